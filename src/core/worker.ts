/** Worker threads: starts one by the path of its script, sends it requests, and answers them inside it. */
import { messageOf } from './log.ts'

type Message<Q> = { id: number; request: Q }
type Answer = { id: number; result: unknown } | { id: number; error: string }

// In a binary, modules are at the root of the build, with each script as an entry below it.
const root = new URL(import.meta.url.endsWith('/core/worker.ts') ? '../' : './', import.meta.url)

/** @param script path below `src/`; the build includes every file of `app` and `drivers` whose name ends with `worker.ts` */
export const startWorker = (script: `${string}worker.ts`): Worker => new Worker(new URL(script, root))

/** The thread ended by itself. The message is the cause, empty if it is unknown. */
export class WorkerEnded extends Error {
  override name = 'WorkerEnded'
}

export interface WorkerCalls<Q> {
  /** @throws WorkerEnded @throws Error with the message of the error that the request failed with */
  call<R>(request: Q): Promise<R>
  /** Ends the thread. Promises of calls in progress never settle. */
  terminate(): void
}

/** Bun's message is a page of source code; one of its lines has the cause. */
const causeIn = (message: string): string => /^error: (.*)$/m.exec(message)?.[1] ?? message

/**
 * Calls a thread that answers with {@link answerCalls}.
 * @param onEnd called once if the thread ends by itself, after its calls were rejected
 */
export function workerCall<Q>(worker: Worker, onEnd: () => void = () => {}): WorkerCalls<Q> {
  const waiting = new Map<number, PromiseWithResolvers<unknown>>()
  let count = 0
  let ended: WorkerEnded | null = null

  function end(message: string): void {
    if (ended) return
    ended = new WorkerEnded(message)
    worker.terminate()
    for (const { reject } of waiting.values()) reject(ended)
    waiting.clear()
    onEnd()
  }

  worker.addEventListener('error', ({ message }) => end(causeIn(message)))
  worker.addEventListener('close', () => end(''))
  worker.addEventListener('message', ({ data }: MessageEvent<Answer>) => {
    const call = waiting.get(data.id)
    waiting.delete(data.id)
    if ('result' in data) call?.resolve(data.result)
    else call?.reject(new Error(data.error))
  })
  return {
    call<R>(request: Q): Promise<R> {
      if (ended) return Promise.reject(ended)
      const call = Promise.withResolvers<unknown>()
      waiting.set(++count, call)
      worker.postMessage({ id: count, request } satisfies Message<Q>)
      return call.promise as Promise<R>
    },
    terminate() {
      ended = new WorkerEnded('')
      worker.terminate()
    },
  }
}

declare const self: Worker

/** Inside a thread: answers each request with what `handle` resolves with, or with the message of its error. */
export function answerCalls<Q>(handle: (request: Q) => Promise<unknown>): void {
  self.onmessage = async ({ data: { id, request } }: MessageEvent<Message<Q>>) => {
    const answer: Answer = await handle(request).then(
      (result) => ({ id, result }),
      (error: unknown) => ({ id, error: messageOf(error) }),
    )
    self.postMessage(answer)
  }
}
