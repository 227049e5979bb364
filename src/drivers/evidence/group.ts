/**
 * Group commit: appends that wait together share one transaction. Each follows the head that the one before it left; one that throws
 * or does not follow fails alone, and the others are written without it.
 */
import { StorageError } from '../../../sdk/storage/errors.ts'
import type {
  Evidence,
  EvidenceBatch,
  EvidenceHead,
  EvidenceRecord,
  WebhookKey,
} from '../../../sdk/storage/evidence.ts'
import { followsHead } from '../../../sdk/storage/evidence-checks.ts'

/** What an engine does inside one transaction, which no other append can interrupt. */
export interface Writing {
  /** The head that the next record follows. */
  head(): EvidenceHead | Promise<EvidenceHead>
  /** Webhooks' records with one of these keys, ascending, without duplicates. */
  find(keys: readonly WebhookKey[]): EvidenceRecord[] | Promise<EvidenceRecord[]>
  write(batches: readonly EvidenceBatch[], head: EvidenceHead): Promise<void>
}

/** One transaction at a time. `work` may run again if nothing of it was kept; the promise rejects with what it throws. */
export type Transact = (work: (writing: Writing) => Promise<void>) => Promise<void>

export interface Group {
  append: Evidence['append']
  /** Refuses further appends, and resolves when those under way have ended. */
  end(): Promise<void>
}

/** A waiting append. */
interface Job {
  make(head: EvidenceHead, known: readonly EvidenceRecord[]): EvidenceBatch
  keys: readonly WebhookKey[]
  resolve(head: EvidenceHead): void
  reject(error: unknown): void
}

/** An append that has its place, with the head after it. */
interface Planned {
  job: Job
  batch: EvidenceBatch
  head: EvidenceHead
}

const maxJobs = 256
/** A group with this many records takes no further job: longer groups would delay other processes. */
const maxRecords = 2_000

/**
 * Lets each job make what it appends, on the head that the one before it left; a job that can't is refused at once. A job with keys
 * begins a group, as records planned before it could not be found by them yet. Jobs that are not planned stay in `jobs`.
 */
async function plan(jobs: Job[], start: EvidenceHead, find: Writing['find']): Promise<Planned[]> {
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
        // If the engine runs this again, the same jobs come first.
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
      // If the transaction could not begin, all waiting jobs would wait as long again.
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
    // Requests that came in together are read in a turn of the event loop each: the group begins after all of them.
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
      // A running group may schedule another one.
      while (scheduled || running > 0 || queue.length > 0) await Bun.sleep(1)
    },
  }
}
