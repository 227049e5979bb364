/**
 * Group commit: waiting appends share one transaction. Each must follow the head left by the append before it. An append that throws
 * or does not follow the head is rejected; the others are written without it.
 */
import { StorageError } from '../../../sdk/storage/errors.ts'
import type { Evidence, EvidenceBatch, EvidenceRecord, WebhookKey } from '../../../sdk/storage/evidence.ts'
import { followsHead } from '../../../sdk/storage/evidence-checks.ts'
import type { LedgerHead } from '../../../sdk/storage/ledger.ts'

/** Operations of an engine inside one transaction, during which no other append can run. */
export interface Writing {
  /** The head that the next record follows. */
  head(): LedgerHead | Promise<LedgerHead>
  /** Webhook records with any of these keys, ascending, without duplicates. */
  find(keys: readonly WebhookKey[]): EvidenceRecord[] | Promise<EvidenceRecord[]>
  write(batches: readonly EvidenceBatch[], head: LedgerHead): Promise<void>
}

/** Runs one transaction at a time. `work` may run again if its transaction was rolled back; the promise rejects with the error of `work`. */
export type Transact = (work: (writing: Writing) => Promise<void>) => Promise<void>

export interface Group {
  append: Evidence['append']
  /** Refuses further appends, and resolves when all earlier ones have ended. */
  end(): Promise<void>
}

/** A waiting append. */
interface Job {
  make(head: LedgerHead, known: readonly EvidenceRecord[]): EvidenceBatch
  keys: readonly WebhookKey[]
  resolve(head: LedgerHead): void
  reject(error: unknown): void
}

/** An append with its place in the chain: the head after it. */
interface Planned {
  job: Job
  batch: EvidenceBatch
  head: LedgerHead
}

const maxJobs = 256
/** No job is added to a group with this many records: longer groups would delay other processes. */
const maxRecords = 2_000

/**
 * Makes the batch of each job on the head left by the job before it, and rejects jobs that fail. A job with keys can only be the first of
 * its group: records planned before it are not written yet, so `find` would miss them. Jobs that are not planned stay in `jobs`.
 */
async function plan(jobs: Job[], start: LedgerHead, find: Writing['find']): Promise<Planned[]> {
  const planned: Planned[] = []
  let head = start
  let known = jobs[0] === undefined || jobs[0].keys.length === 0 ? [] : await find(jobs[0].keys)
  const next = () => (head.seq - start.seq < maxRecords && jobs[0]?.keys.length === 0 ? jobs.shift() : undefined)
  for (let job = jobs.shift(); job; job = next()) {
    try {
      const batch = job.make(head, known)
      followsHead(head, batch)
      const { seq, hash } = batch.records.at(-1) ?? head
      head = { seq, hash, frontier: [...batch.frontier] }
      planned.push({ job, batch, head })
    } catch (error) {
      job.reject(error)
    }
    known = []
  }
  return planned
}

export function groupCommit(transact: Transact): Group {
  const queue: Job[] = []
  let scheduled = false
  let running = 0
  let closed = false

  async function runGroup(): Promise<void> {
    let jobs: Job[] | null = null
    let planned: Planned[] = []
    running++
    try {
      await transact(async ({ head: current, find, write }) => {
        // If the engine runs this again, the jobs of the previous attempt come first.
        queue.unshift(...planned.splice(0).map(({ job }) => job))
        jobs = queue.splice(0, maxJobs)
        scheduled = false
        const start = await current()
        planned = await plan(jobs, start, find)
        queue.unshift(...jobs.splice(0))
        if (queue.length > 0) schedule()
        const head = planned.at(-1)?.head ?? start
        if (head.seq === start.seq) return
        await write(
          planned.map(({ batch }) => batch),
          head,
        )
      })
    } catch (error) {
      // The transaction could not begin. All waiting jobs fail with it: otherwise they would wait for as long again.
      if (jobs === null) {
        jobs = queue.splice(0)
        scheduled = false
      }
      for (const { reject } of [...planned.map(({ job }) => job), ...jobs]) reject(error)
      return
    } finally {
      running--
    }
    for (const { job, head } of planned) job.resolve(head)
  }

  function schedule() {
    if (scheduled) return
    scheduled = true
    // Requests that arrive together are each read in a turn of the event loop; the group begins after all of them.
    setImmediate(runGroup)
  }

  return {
    async append(make, keys = []) {
      if (closed) throw new StorageError('unavailable', 'the evidence is closed')
      return new Promise((resolve, reject) => {
        queue.push({ make, keys, resolve, reject })
        schedule()
      })
    },
    async end() {
      closed = true
      // A running group may schedule the next.
      while (scheduled || running > 0 || queue.length > 0) await Bun.sleep(1)
    },
  }
}
