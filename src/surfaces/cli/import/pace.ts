/** How much is under way at once: as much as keeps each piece of work short, whatever the server's embedder can do. */

const [first, least, most] = [8, 2, 32]
/** Above this the server is behind; it gives up waiting for vectors at 2 s. */
const slowMs = 800
const quickMs = 400

export interface Pace {
  /** How many may run now. */
  hands(): number
  /** Told when a piece of work that began at `started` is done, in milliseconds of one clock. */
  done(started: number, now: number): void
}

export function createPace(): Pace {
  let hands = first
  let changed = 0
  return {
    hands: () => hands,
    done(started, now) {
      // What began before the last change says nothing about it.
      if (started < changed) return
      const took = now - started
      if (took <= slowMs && (took >= quickMs || hands === most)) return
      hands = took > slowMs ? Math.max(least, hands >> 1) : hands + 1
      changed = now
    },
  }
}

/** Does the work for each item, several at once. @throws the first error, when all that was under way has ended */
export async function eachPaced<T>(
  items: AsyncIterable<T>,
  pace: Pace,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const running = new Set<Promise<void>>()
  const errors: unknown[] = []
  const start = async (item: T): Promise<void> => {
    const started = performance.now()
    try {
      await work(item)
      pace.done(started, performance.now())
    } catch (error) {
      errors.push(error)
    }
  }
  try {
    for await (const item of items) {
      const task = start(item).then(() => void running.delete(task))
      running.add(task)
      while (running.size >= pace.hands()) await Promise.race(running)
      if (errors.length > 0) break
    }
  } finally {
    await Promise.all(running)
  }
  if (errors.length > 0) throw errors[0]
}
