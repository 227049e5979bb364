/** Work for the database that is done together: what comes while all lanes are busy shares the next turn. */

interface Lanes {
  /** Turns at a time. */
  lanes: number
  /** A turn beside another one begins only if so much waits: many small ones cost more than they save. */
  least: number
}

/** @param turn takes what it likes from the queue, at least one; it must not throw */
export function openLanes<Job>({ lanes, least }: Lanes, turn: (queue: Job[]) => Promise<void>): (job: Job) => void {
  const queue: Job[] = []
  let busy = 0
  const isWorth = (others: number): boolean => queue.length >= (others === 0 ? 1 : least)
  async function work(): Promise<void> {
    // Requests that came in together are read in a turn of the event loop each: they belong together.
    await new Promise(setImmediate)
    while (isWorth(busy - 1)) await turn(queue)
    busy--
  }
  return (job) => {
    queue.push(job)
    if (busy === lanes || !isWorth(busy)) return
    busy++
    void work()
  }
}
