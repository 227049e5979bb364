/** Periodic background work, one round at a time, until closed. */

export interface PeriodicJob {
  /** Starts a round now rather than at the next interval. */
  wake(): void
  /** Runs a round; resolves with the number of items done. During a round, further calls wait for that round. */
  drain(): Promise<number>
  /** Aborts the signal, and waits for the round in progress. */
  close(): Promise<void>
}

export function startPeriodicJob(options: {
  every_ms: number
  /** The same after a round in which something was done. */
  busy_ms?: number
  /** Calls back after `ms` milliseconds, or about then if it is a round; returns a function that cancels it. */
  after(ms: number, run: () => void, isRound: boolean): () => void
  /** Does the pending work; resolves with the number of items done. */
  work(stop: AbortSignal): Promise<number>
  /** Called with the error of a failed round. */
  failed(error: unknown): void
}): PeriodicJob {
  const { every_ms, busy_ms = every_ms, after, work, failed } = options
  const stop = new AbortController()
  let cancel = () => {}
  let working: Promise<number> | null = null

  const drain = (): Promise<number> => {
    working ??= work(stop.signal).finally(() => {
      working = null
    })
    return working
  }

  const schedule = (ms: number): void => {
    cancel()
    if (stop.signal.aborted) return
    const round = () => {
      let done = 0
      drain()
        .then((found) => {
          done = found
        })
        .catch(failed)
        .finally(() => schedule(done > 0 ? busy_ms : every_ms))
    }
    cancel = after(ms, round, ms > 0)
  }
  schedule(0)

  return {
    wake: () => schedule(0),
    drain,
    async close() {
      stop.abort()
      cancel()
      await working?.catch(() => {})
    },
  }
}
