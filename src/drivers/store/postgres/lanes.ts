/** Work for the database that is done together: what comes while all lanes are busy shares the next turn. */

/** @param turn takes what it likes from the queue, at least one; it must not throw */
export function openLanes<Job>(lanes: number, turn: (queue: Job[]) => Promise<void>): (job: Job) => void {
  const queue: Job[] = []
  let busy = 0
  async function work(): Promise<void> {
    // Everything called in this same turn of the loop belongs together.
    await null
    while (queue.length > 0) await turn(queue)
    busy--
  }
  return (job) => {
    queue.push(job)
    if (busy === lanes) return
    busy++
    void work()
  }
}
