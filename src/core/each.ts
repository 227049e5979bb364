/** Work on many items, several at a time. */

/**
 * Does the work for each item, started in order, on at most `width` items at a time.
 * @throws the first error, after all work in progress has ended; none is started after it
 */
export async function eachAtOnce<T>(
  items: Iterable<T> | AsyncIterable<T>,
  width: number,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const iterator = Symbol.asyncIterator in items ? items[Symbol.asyncIterator]() : items[Symbol.iterator]()
  const errors: unknown[] = []
  const lane = async () => {
    try {
      for (let next = await iterator.next(); !next.done && errors.length === 0; next = await iterator.next())
        await work(next.value)
    } catch (error) {
      errors.push(error)
    }
  }
  await Promise.all(Array.from({ length: width }, lane))
  await iterator.return?.()
  if (errors.length > 0) throw errors[0]
}

/** @returns a function that runs work at once while fewer than `width` run, and otherwise in the order in which it came */
export function openTurns(width: number): <T>(work: () => Promise<T>) => Promise<T> {
  const waiting: (() => void)[] = []
  let running = 0
  return async (work) => {
    if (running < width) running++
    else await new Promise<void>((start) => waiting.push(start))
    try {
      return await work()
    } finally {
      const next = waiting.shift()
      if (next) next()
      else running--
    }
  }
}
