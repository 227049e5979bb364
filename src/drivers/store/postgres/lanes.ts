/** Work for the database that is done together: what comes while all lanes are busy shares the next turn. */

interface Lanes {
  /** Turns at a time. */
  lanes: number
  /** A turn beside another one begins only if so much waits: many small ones cost more than they save. */
  least: number
  /**
   * A turn waits for those who shared the one before, or waited for it, so long at most, as a part of that one's time: they come again as
   * soon as they were answered. Who comes alone, or later than that, never waits. [0]
   */
  patience?: number
  /** Nor does anybody wait longer than this, as after a turn for which the database could not be reached. [no bound] */
  longest_ms?: number
}

/** @param turn takes what it likes from the queue, at least one; it must not throw */
export function openLanes<Job>(
  { lanes, least, patience = 0, longest_ms = Number.POSITIVE_INFINITY }: Lanes,
  turn: (queue: Job[]) => Promise<void>,
): (job: Job) => void {
  const queue: Job[] = []
  let busy = 0
  /** Those of the last turn, and those who waited for it. */
  let expected = 0
  /** Until when those are waited for. */
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
    // Requests that came in together are read in a turn of the event loop each: they belong together.
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
