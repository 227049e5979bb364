/** One run of a function for all concurrent callers. */

/**
 * Callers that arrive together share one run of `run`. A caller that arrives during a run waits for the next one, because the current run
 * may have read its data before the change that the caller wants to see.
 * @example
 * ```ts
 * const refresh = sharedRun(() => readAll())
 * await Promise.all([refresh(), refresh()]) // one read
 * ```
 */
export function sharedRun<T>(run: () => Promise<T>): () => Promise<T> {
  let running: Promise<T> | null = null
  let next: Promise<T> | null = null
  return function ask(): Promise<T> {
    if (running === null) {
      running = run().finally(() => {
        running = null
      })
      return running
    }
    next ??= running
      .catch(() => {})
      .then(() => {
        next = null
        return ask()
      })
    return next
  }
}
