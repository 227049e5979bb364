/** Things to close in the end, the last one that was opened first. */
import { describeError, type Log } from '../surfaces/log.ts'

interface Closable {
  close(): Promise<void>
}

export interface Closing {
  /** Returns what it is given, to be closed with the rest. */
  keep<T extends Closable>(one: T): T
  /** Closes everything; what can't be closed is logged, and keeps nothing else open. */
  close(): Promise<void>
}

export function closing(log: Log): Closing {
  const opened: Closable[] = []
  return {
    keep(one) {
      opened.push(one)
      return one
    },
    async close() {
      for (const one of opened.splice(0).reverse())
        await one.close().catch((error) => log('error', 'closing failed', describeError(error)))
    },
  }
}
