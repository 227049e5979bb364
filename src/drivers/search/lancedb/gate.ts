/** Lets searches run concurrently, and changes of the segments exclusively. */
export function openGate() {
  const running = new Set<Promise<unknown>>()
  let changing: Promise<void> | null = null
  return {
    async search<T>(work: () => Promise<T>): Promise<T> {
      while (changing !== null) await changing
      const mine = work()
      running.add(mine)
      try {
        return await mine
      } finally {
        running.delete(mine)
      }
    },
    /** Starts when running searches have ended; new ones wait. */
    async change(work: () => Promise<void>): Promise<void> {
      while (changing !== null) await changing
      const done = Promise.allSettled([...running]).then(work)
      changing = done.catch(() => {})
      try {
        await done
      } finally {
        changing = null
      }
    },
  }
}

/** As `Promise.all`, but rejects only after all have ended: work left running by a failed search would read segments that a change has closed. */
export const allOf = <T extends readonly unknown[] | []>(work: T) =>
  Promise.allSettled(work).then(() => Promise.all(work))
