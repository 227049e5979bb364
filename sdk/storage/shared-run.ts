/** Asking once for all who ask at the same time. */

/**
 * Calls that come together share one run of `run`. One that comes while a run is under way waits for the next, as that run may have
 * looked before what the caller wants to see.
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
