/**
 * What a server's answers say of the calls: how they ended, and what the client gets of them. A server may answer a call with a task and go on
 * working: the call then ends with what the server answers about the task, if the client asks.
 */
import { describeError, type Log } from '../../core/log.ts'
import { remember } from './calls.ts'
import type { Gate, ToolCall } from './gate.ts'
import {
  type Fields,
  fieldsOf,
  type Id,
  type Message,
  type Response,
  success,
  taskIn,
  unrecorded,
  withNotes,
} from './messages.ts'

/** A call that was sent. */
export interface SentCall {
  call: ToolCall
  start: number
}

export interface Answers {
  /** Records how a call ended; `ok` is null if nobody knows. Returns what the model has to know of it. */
  ended(sent: SentCall, ok: boolean | null, output: unknown): Promise<string[]>
  /** Whether the answer to a call starts a task, which is not its end. */
  startsTask(sent: SentCall, output: Fields): boolean
  /** What the client gets of an answer. An error is text for the model, as a result is; it becomes a result if it is withheld. */
  shown(id: Id, response: Response, call?: ToolCall): Promise<Message>
  /** What the client gets of an answer about a task. @param id of the task */
  ofTask(method: string, task: unknown, response: Response): Promise<Message>
}

/** Methods that ask for a task; `tasks/get` has its result in the revision that has no `tasks/result`. */
export const taskMethods: ReadonlySet<string> = new Set(['tasks/result', 'tasks/get'])

/** The server does not know the task. */
const invalidParams = -32_602

/** How the call of a task ended; undefined if the answer does not say so. */
function endOf(method: string, response: Response): { ok: boolean; output: Fields } | undefined {
  if ('error' in response)
    return method === 'tasks/result' && response.error.code !== invalidParams
      ? { ok: false, output: fieldsOf(response.error) }
      : undefined
  const answer = fieldsOf(response.result)
  const output = method === 'tasks/result' ? answer : fieldsOf(answer.result)
  if (method === 'tasks/result' || (answer.status === 'completed' && answer.result !== undefined))
    return { ok: output.isError !== true, output }
  return answer.status === 'failed' && answer.error !== undefined
    ? { ok: false, output: fieldsOf(answer.error) }
    : undefined
}

export function openAnswers(
  gate: Gate,
  { name, log, elapsed }: { name: string; log: Log; elapsed(): number },
): Answers {
  const tasks = new Map<unknown, SentCall>()

  const ended: Answers['ended'] = ({ call, start }, ok, output) =>
    gate.ended(call, { ok, output, duration_ms: elapsed() - start }).then(
      () => [],
      (error) => {
        log('error', 'the end of a call could not be recorded', { server: name, ...describeError(error) })
        return [unrecorded]
      },
    )

  const shown: Answers['shown'] = async (id, response, call) => {
    if (!('error' in response)) return success(id, await gate.shown(fieldsOf(response.result), call))
    const { error, ...result } = await gate.shown({ error: response.error }, call)
    return error === undefined ? success(id, result) : ({ jsonrpc: '2.0', id, error } as Message)
  }

  return {
    ended,
    shown,
    startsTask(sent, output) {
      const id = taskIn(output)
      if (id === undefined) return false
      // Of two with one id, nobody knows which of them an answer is about.
      const forgotten = tasks.has(id) ? sent : remember(tasks, id, sent)
      if (forgotten !== undefined) void ended(forgotten, null, null)
      return true
    },
    async ofTask(method, task, response) {
      const sent = tasks.get(task)
      const end = sent && endOf(method, response)
      const notes = end && tasks.delete(task) ? await ended(sent, end.ok, end.output) : []
      const id = response.id as Id
      if (method === 'tasks/result' || 'error' in response)
        return withNotes(await shown(id, response, sent?.call), notes)
      const { result, ...status } = fieldsOf(response.result)
      const about = await gate.shown(status, sent?.call)
      if (result === undefined) return withNotes(success(id, about), notes)
      const held = withNotes(await shown(id, { ...response, result: fieldsOf(result) }, sent?.call), notes)
      return success(id, { ...about, result: fieldsOf((held as typeof response).result) })
    },
  }
}
