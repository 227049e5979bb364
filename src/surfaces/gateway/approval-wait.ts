/** A call of a client that shows no pages waits for the answer to its approval, with notices of progress, or a form that has the address. */
import type { Calls } from './calls.ts'
import type { Gate, WaitingFor } from './gate.ts'
import { approvalForm, type Fields, fieldsOf, type Id, type Message, type Response } from './messages.ts'

export interface WaitingOptions {
  gate: Pick<Gate, 'answered'>
  /** A call that is cancelled waits no longer. */
  calls: Pick<Calls<unknown>, 'isWanted'>
  toClient(message: Message, relatedRequestId: Id): Promise<void>
  /** Begin of the ids of forms. */
  session: string
  elapsed(): number
  wait_ms: number
  sleep(ms: number): Promise<void>
}

export interface Waiting {
  /**
   * Returns whether there is an answer, granted or not.
   * @param form whether the user is shown a form; what is entered there grants nothing, but who declines it waits for nothing
   */
  wait(id: Id, meta: Fields, approval: WaitingFor, form: boolean): Promise<boolean>
  /** Whether this answers a form. */
  takes(response: Response): boolean
}

const pollMs = 500

export function openWaiting({ gate, calls, toClient, session, elapsed, wait_ms, sleep }: WaitingOptions): Waiting {
  /** Forms that are shown, by whether they were declined. */
  const forms = new Map<unknown, boolean>()
  const prefix = `cstp-${session}-form-`
  let sequence = 0
  return {
    async wait(id, { progressToken }, approval, form) {
      const question = `${prefix}${sequence++}`
      if (form) {
        forms.set(question, false)
        await toClient({ jsonrpc: '2.0', id: question, ...approvalForm(approval) }, id)
      }
      const until = elapsed() + wait_ms
      try {
        for (let progress = 0; elapsed() < until && calls.isWanted(id) && forms.get(question) !== true; progress++) {
          if ((await gate.answered(approval)) !== 'undecided') return true
          if (progress % 4 === 0 && progressToken !== undefined) {
            const params = { progressToken, progress, message: `waits for approval ${approval.id}: ${approval.url}` }
            await toClient({ jsonrpc: '2.0', method: 'notifications/progress', params } as Message, id)
          }
          await sleep(pollMs)
        }
        return false
      } finally {
        if (forms.delete(question)) {
          const params = { requestId: question, reason: 'the call waits no longer' }
          await toClient({ jsonrpc: '2.0', method: 'notifications/cancelled', params }, id)
        }
      }
    },
    takes(response) {
      if (!String(response.id).startsWith(prefix)) return false
      const { action } = fieldsOf('result' in response ? response.result : null)
      if (action !== 'decline') forms.delete(response.id)
      else if (forms.has(response.id)) forms.set(response.id, true)
      return true
    },
  }
}
