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
