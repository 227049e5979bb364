/** Lets searches run side by side, and what changes the ground under them alone. */
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
    /** Begins when the searches that run have ended; those that come meanwhile wait. */
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

/** All of these; if one fails, once the others have ended too: what a search leaves behind would read segments that a change has closed. */
export const allOf = <T extends readonly unknown[] | []>(work: T) =>
  Promise.allSettled(work).then(() => Promise.all(work))
