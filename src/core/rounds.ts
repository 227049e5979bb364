/** Work that is looked for now and then, one round at a time, until it is closed. */

export interface Rounds {
  /** Looks for work now rather than at the next round. */
  wake(): void
  /** Does what there is; resolves with how much was done. A call while it runs waits for the same. */
  drain(): Promise<number>
  /** Aborts the signal, and waits for the round that is under way. */
  close(): Promise<void>
}

export function startRounds(options: {
  every_ms: number
  /** Calls back after so many milliseconds; returns the cancellation. */
  after(ms: number, run: () => void): () => void
  /** Does what there is; resolves with how much was done. */
  work(stop: AbortSignal): Promise<number>
  /** Called with what a round threw. */
  failed(error: unknown): void
}): Rounds {
  const { every_ms, after, work, failed } = options
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
    cancel = after(ms, () => {
      drain()
        .catch(failed)
        .finally(() => schedule(every_ms))
    })
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
