/** What the program has opened and has to close, and the timers that the domain is given. */
import { describeError, type Log } from '../core/log.ts'

interface Closable {
  close(): Promise<void>
}

interface Closing {
  /** Returns what it is given, and closes it with the rest. */
  keep<T extends Closable>(one: T): T
  /** Closes everything, the last one opened first; a failure is logged and does not keep the rest open. */
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

/** Runs something once, after `ms`. @returns cancels it */
export function later(ms: number, run: () => void): () => void {
  const timer = setTimeout(run, ms)
  return () => clearTimeout(timer)
}

/** Runs something every `ms`. @returns ends it */
export function every(ms: number, run: () => void): () => void {
  const timer = setInterval(run, ms)
  return () => clearInterval(timer)
}
