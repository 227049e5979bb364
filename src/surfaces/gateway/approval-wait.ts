/** A call of a client that shows no pages waits for the answer to its approval, with notices of progress. */
import type { Gate, WaitingFor } from './gate.ts'

export interface Waiting extends Pick<Gate, 'answered'> {
  approval: WaitingFor
  /** Whether the call still waits: it may be cancelled. */
  isOpen(): boolean
  elapsed(): number
  wait_ms: number
  sleep(ms: number): Promise<void>
  tell(progress: number, message: string): Promise<void>
}

const pollMs = 500

/** Returns whether there is an answer, granted or not. */
export async function waitForAnswer(waiting: Waiting): Promise<boolean> {
  const { approval, answered, isOpen, elapsed, wait_ms, sleep, tell } = waiting
  const until = elapsed() + wait_ms
  for (let progress = 0; elapsed() < until && isOpen(); progress++) {
    if ((await answered(approval)) !== 'undecided') return true
    if (progress % 4 === 0) await tell(progress, `waits for approval ${approval.id}: ${approval.url}`)
    await sleep(pollMs)
  }
  return false
}
