/** Resources that the program must close, and timers for the domain. */
import { describeError, type Log } from '../core/log.ts'

interface Closable {
  close(): Promise<void>
}

interface Closing {
  /** Registers a resource to be closed with the others, and returns it. */
  keep<T extends Closable>(one: T): T
  /** Closes everything in reverse order of opening; a failure is logged and the rest is still closed. */
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

/** Runs a function once, after `ms`. @returns a function that cancels it */
export function later(ms: number, run: () => void): () => void {
  const timer = setTimeout(run, ms)
  return () => clearTimeout(timer)
}
