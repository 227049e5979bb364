/**
 * Group commit: appends that wait together share one transaction. Each follows the head that the one before it left; one that throws
 * or does not follow fails alone, and what the others append is written as if it had never been.
 */
import type { Database } from 'bun:sqlite'
import { StorageError } from '../../../../sdk/storage/errors.ts'
import type {
  Evidence,
  EvidenceBatch,
  EvidenceHead,
  EvidenceRecord,
  StoredCheckpoint,
  WebhookKey,
} from '../../../../sdk/storage/evidence.ts'
import { followsHead, noHash } from '../../../../sdk/storage/evidence-checks.ts'
import { begin } from './connect.ts'
import { storageErrorOf } from './errors.ts'
import { pullRequestIndex, webhookKeys } from './lookup.ts'
import { headReader } from './read.ts'

export interface Committer {
  append: Evidence['append']
  /** Brings {@link pullRequestIndex} level with the log. */
  indexPullRequests(): Promise<void>
  saveCheckpoint(checkpoint: StoredCheckpoint): Promise<void>
  /** Resolves when what was under way has ended; nothing more is taken. */
  end(): Promise<void>
}

/** One append that waits. */
interface Job {
  make(head: EvidenceHead, known: readonly EvidenceRecord[]): EvidenceBatch
  keys: readonly WebhookKey[]
  resolve(head: EvidenceHead): void
  reject(error: unknown): void
}

/** One that has its place, with the head after it. */
interface Planned {
  job: Job
  batch: EvidenceBatch
  head: EvidenceHead
}

const mostJobs = 256
/** No job is begun in a group that has so many records: longer groups would hold up other processes. */
const manyRecords = 2_000
/** Records that are written in one go; calls that don't write have their turn in between. */
const writtenAtOnce = 1_000

export function committer(db: Database): Committer {
  const storedHead = headReader(db)
  const last = db.prepare<{ seq: number; hash: string }, []>('select seq, hash from events order by seq desc limit 1')
  const insert = db.prepare(
    'insert into events (seq, ts, source, event_type, evidence_class, payload, prev_hash, hash) values (?, ?, ?, ?, ?, ?, ?, ?)',
  )
  const insertNode = db.prepare('insert into nodes (level, "index", hash) values (?, ?, ?)')
  const setHead = db.prepare('update head set seq = ?, hash = ?, frontier = ?')
  const insertCheckpoint = db.prepare('insert into checkpoints (size, head_hash, note, created_at) values (?, ?, ?, ?)')
  const keys = webhookKeys(db)
  const index = pullRequestIndex(db)
  const queue: Job[] = []
  let lane: Promise<unknown> = Promise.resolve()
  let scheduled = false
  let closed = false

  /** One transaction at a time: the connection has only one. */
  function transaction<T>(work: () => Promise<T>): Promise<T> {
    const run = async () => {
      await begin(db)
      try {
        const value = await work()
        db.run('COMMIT')
        return value
      } catch (error) {
        if (db.inTransaction) db.run('ROLLBACK')
        throw storageErrorOf(error, 'cannot commit')
      }
    }
    const next = lane.then(run)
    lane = next.catch(() => {})
    return next
  }

  /** The head that the next record follows. @throws StorageError `corrupt` when the last record is not the one that it names */
  function currentHead(): EvidenceHead {
    const head = storedHead()
    const { seq, hash } = last.get() ?? { seq: 0, hash: noHash }
    if (seq === head.seq && hash === head.hash) return head
    throw new StorageError('corrupt', `sqlite evidence: the log ends at record ${seq}, its head says ${head.seq}`)
  }

  async function write(batches: readonly EvidenceBatch[]): Promise<void> {
    let written = 0
    for (const { records, nodes } of batches) {
      for (const record of records) {
        const { seq, ts, source, event_type, evidence_class, payload, prev_hash, hash } = record
        insert.run(seq, ts, source, event_type, evidence_class, payload, prev_hash, hash)
        keys.add(record)
        if (++written % writtenAtOnce === 0) await new Promise(setImmediate)
      }
      for (const { level, index, hash } of nodes) insertNode.run(level, index, hash)
    }
  }

  /**
   * Lets each make what it appends, on the head that the one before it left; what can't is refused at once. One with keys begins a group,
   * as what is planned before it could not be found by them yet.
   */
  function plan(jobs: Job[], start: EvidenceHead): Planned[] {
    const planned: Planned[] = []
    let head = start
    const next = () => (head.seq - start.seq < manyRecords && jobs[0]?.keys.length === 0 ? jobs.shift() : undefined)
    for (let job = jobs.shift(); job; job = next()) {
      try {
        const batch = job.make(head, keys.find(job.keys))
        followsHead(head, batch)
        const { seq, hash } = batch.records.at(-1) ?? head
        head = { seq, hash, frontier: [...batch.frontier] }
        planned.push({ job, batch, head })
      } catch (error) {
        job.reject(error)
      }
    }
    return planned
  }

  async function runGroup(): Promise<void> {
    let jobs: Job[] | null = null
    let planned: Planned[] = []
    try {
      await transaction(async () => {
        jobs = queue.splice(0, mostJobs)
        scheduled = false
        const start = currentHead()
        planned = plan(jobs, start)
        queue.unshift(...jobs.splice(0))
        if (queue.length > 0) schedule()
        const head = planned.at(-1)?.head ?? start
        if (head.seq === start.seq) return
        await write(planned.map(({ batch }) => batch))
        setHead.run(head.seq, head.hash, JSON.stringify(head.frontier))
      })
    } catch (error) {
      // Where the transaction could not begin, all that wait would wait as long again.
      if (jobs === null) {
        jobs = queue.splice(0)
        scheduled = false
      }
      for (const { reject } of [...planned.map(({ job }) => job), ...jobs]) reject(error)
      return
    }
    for (const { job, head } of planned) job.resolve(head)
  }

  function schedule() {
    if (scheduled) return
    scheduled = true
    // Requests that came in together are each read in a turn of their own: the group begins when all have been.
    setImmediate(runGroup)
  }

  const open = () => {
    if (closed) throw new StorageError('unavailable', 'the evidence is closed')
  }
  return {
    async append(make, keys = []) {
      open()
      return new Promise((resolve, reject) => {
        queue.push({ make, keys, resolve, reject })
        schedule()
      })
    },
    async indexPullRequests() {
      open()
      for (let behind = index.behind(); behind; ) behind = await transaction(async () => index.advance())
    },
    async saveCheckpoint({ size, head_hash, note, created_at }) {
      open()
      await transaction(async () => void insertCheckpoint.run(size, head_hash, note, created_at))
    },
    async end() {
      closed = true
      // What was begun may leave a further group behind.
      while (scheduled || queue.length > 0) await new Promise(setImmediate)
      await lane
    },
  }
}
