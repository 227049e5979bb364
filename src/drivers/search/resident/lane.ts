/** Runs pieces of work one after another. */
export function openLane() {
  let last: Promise<unknown> = Promise.resolve()
  return <T>(work: () => T | Promise<T>): Promise<T> => {
    const mine = last.then(work)
    last = mine.catch(() => {})
    return mine
  }
}
