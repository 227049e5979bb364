/** Batches work for the database: jobs that arrive while all lanes are busy share the next turn. */

interface Lanes {
  /** The most concurrent turns. */
  lanes: number
  /** A turn begins beside another one only if this many jobs wait: many small turns cost more than they save. */
  least: number
  /**
   * How long a turn waits, at most, for the clients of the previous turn and those that waited for it, as a fraction of that turn's
   * duration: they return as soon as they are answered. A job that arrives alone, or later than that, never waits. [0]
   */
  patience?: number
  /** An upper bound of this wait, as after a turn for which the database could not be reached. [no bound] */
  longest_ms?: number
}

/** @param turn takes as many jobs from the queue as it likes, at least one; it must not throw */
export function openLanes<Job>(
  { lanes, least, patience = 0, longest_ms = Number.POSITIVE_INFINITY }: Lanes,
  turn: (queue: Job[]) => Promise<void>,
): (job: Job) => void {
  const queue: Job[] = []
  let busy = 0
  /** Number of jobs of the last turn, and of those that waited for it. */
  let expected = 0
  /** The time until which a turn waits for them. */
  let until_ms = 0
  let full: (() => void) | null = null
  const isWorth = (others: number): boolean => queue.length >= (others === 0 ? 1 : least)

  async function gather(): Promise<void> {
    const left_ms = until_ms - performance.now()
    if (queue.length >= Math.min(expected, least) || left_ms <= 0) return
    const { promise, resolve } = Promise.withResolvers<void>()
    const timer = setTimeout(resolve, left_ms)
    full = resolve
    await promise
    full = null
    clearTimeout(timer)
  }
  async function take(): Promise<void> {
    const [waiting, start] = [queue.length, performance.now()]
    const done = turn(queue)
    const taken = waiting - queue.length
    await done
    const end = performance.now()
    until_ms = end + Math.min(patience * (end - start), longest_ms)
    expected = taken + queue.length
  }
  async function work(): Promise<void> {
    // Requests that arrive together are each read in a turn of the event loop of their own: wait for all of them.
    await new Promise(setImmediate)
    while (isWorth(busy - 1)) {
      await gather()
      if (queue.length > 0) await take()
    }
    busy--
  }
  return (job) => {
    queue.push(job)
    if (queue.length >= Math.min(expected, least)) full?.()
    if (busy === lanes || !isWorth(busy)) return
    busy++
    void work()
  }
}
