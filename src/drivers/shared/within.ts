/** Waiting for a limited time. */

/** The answer, or `otherwise` if it takes longer. The timer ends with the answer: it would keep a process that stops until it is due. */
export async function within<T, O>(given: Promise<T>, wait_ms: number, otherwise: O): Promise<T | O> {
  const { promise, resolve } = Promise.withResolvers<O>()
  const timer = setTimeout(resolve, wait_ms, otherwise)
  try {
    return await Promise.race([given, promise])
  } finally {
    clearTimeout(timer)
  }
}
