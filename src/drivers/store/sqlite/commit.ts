/**
 * Group commit: transactions that are waiting at the same time share one SQLite transaction (`members.ts` runs them). The files of their
 * decisions are in place before any caller is answered.
 *
 * The order ensures that a refusal means nothing was written, and a success means everything was:
 * 1. Under the write lock: write rows, documents and a `pending_files` row for each file; write the files' text under temporary names;
 *    COMMIT. A full disk shows up before the COMMIT, and everything is rolled back. The write-ahead log is then synced off the event loop.
 *    Transactions that arrive in the meantime form the next group: they could not be answered before the next sync anyway, and one commit
 *    costs as much as ten writes.
 * 2. Under the write lock again, so that no older text replaces a newer one: put each file in place (`placing.ts`). Then answer.
 * 3. Sync the files. The next group deletes their pending rows, or a separate transaction does so soon if there is none.
 * An error in step 2 or 3 comes after the commit, so the callers get success; the row stays, and the next commit or start writes the file.
 */

import { StorageError } from '../../../../sdk/storage/errors.ts'
import { begin, storageErrorOf } from '../../shared/sqlite/connect.ts'
import { closeFiles, dateAfter, fileStates, removeTemps, type TempFile, writeTemps } from './files.ts'
import { type Job, memberRunner, type Outcome, type PendingFile, type SqliteMember } from './members.ts'
import { type PlacerOptions, placer } from './placing.ts'

/** State shared by the transactions of one group. */
export interface Group {
  nextSeq(): number
}

export interface Committer {
  run<T>(work: (member: SqliteMember) => Promise<T>): Promise<T>
  /** Runs `work` between two groups, outside of any transaction. */
  alone<T>(work: () => T | Promise<T>): Promise<T>
  /** Resolves when no answered transaction has a pending file left, except those that could not be written. */
  settled(): Promise<void>
  readonly group: Group
  close(): Promise<void>
}

interface Waiting extends Job {
  resolve(value: unknown): void
  reject(error: unknown): void
  since: number
}

/** A group after its COMMIT. */
interface Committed {
  temps: readonly TempFile[]
  files: ReadonlyMap<string, PendingFile>
  /** Resolves when the commit is on stable storage. */
  logged: Promise<void>
  /** Whether files must be put in place. */
  settles: boolean
}

/** Larger groups would block the event loop and other processes for too long. */
const largestGroup = 48
const patience_ms = 5_000
/** The most files waiting for a sync; above this, writers wait for the disk. */
const mostUnsynced = 4 * largestGroup
/** Pending rows of synced files are deleted by the next group, or on their own after this time. */
const clearAfter_ms = 20

export interface CommitterOptions extends Omit<PlacerOptions, 'wereSynced'> {
  /** Resolves when everything committed before the call is on stable storage. */
  sync(): Promise<void>
}

export function committer({ sync, ...options }: CommitterOptions): Committer {
  const { db, statements, root } = options
  const lastSeq = statements.prepare<{ seq: number }, []>('select coalesce(max(seq), 0) as seq from decisions')
  const setState = fileStates(statements)
  const mtimeOf = statements.prepare<{ file_mtime: number }, [number]>('select file_mtime from decisions where num = ?')
  /** Cached statements: those of a commit are short, and parsing them would take as long as running them. */
  const run = (sql: string) => db.query(sql).run()

  const members = memberRunner(db, statements, run)
  const queue: Waiting[] = []
  const alone: (() => Promise<void>)[] = []
  let working: Promise<void> | null = null
  let closed = false
  let clearing: Timer | null = null
  const placing = placer({
    ...options,
    wereSynced() {
      clearing ??= setTimeout(() => {
        clearing = null
        // On failure the next group deletes the rows.
        between(clearSynced).catch(() => {})
      }, clearAfter_ms)
    },
  })
  let seq: number | null = null
  /** The sync of the last group's commit, while it runs; never rejects. */
  let syncing: Promise<void> | null = null
  const answering = new Set<Promise<void>>()
  const group: Group = {
    nextSeq() {
      seq = (seq ?? lastSeq.get()!.seq) + 1
      return seq
    },
  }

  /** @param apart whether each job gets its own savepoint */
  async function runGroup(jobs: readonly Waiting[], apart = false): Promise<void> {
    const files = new Map<string, PendingFile>()
    let outcomes: Outcome[] | null = null
    let temps: readonly TempFile[] = []
    try {
      await begin(db, Math.max(jobs[0]!.since + patience_ms, performance.now() + 100))
      seq = null
      outcomes = await members.run(jobs, files, apart)
      if (outcomes === null) run('ROLLBACK')
      else {
        const texts = [...files].flatMap(([id, { text }]) => (text === null ? [] : [[id, text] as const]))
        if (texts.length > 0) await placing.calm()
        temps = await writeTemps(root, new Map(texts))
        for (const temp of temps) {
          const { num } = files.get(temp.id)!
          dateAfter(temp, mtimeOf.get(num)?.file_mtime ?? 0)
          setState(num, temp.state)
        }
        const cleared = placing.clear()
        run('COMMIT')
        cleared()
      }
    } catch (error) {
      if (db.inTransaction) run('ROLLBACK')
      closeFiles(temps)
      removeTemps(temps)
      const refused = storageErrorOf(error, 'cannot commit')
      for (const job of jobs) job.reject(refused)
      return
    } finally {
      members.end()
    }
    if (outcomes === null) return runGroup(jobs, true)
    // Files are put in place by a transaction of this connection, so the next group has to wait for it.
    const settles = files.size > 0 || placing.hasFailed()
    const logged = sync()
    const over: Promise<void> = logged
      .catch(() => {})
      .then(() => {
        if (syncing === over) syncing = null
      })
    syncing = over
    const answered = answer(jobs, outcomes, { temps, files, logged, settles }).finally(() => answering.delete(answered))
    answering.add(answered)
    if (settles) await answered
  }

  /** Answers a committed group once it is durable and its files are in place. */
  async function answer(
    jobs: readonly Waiting[],
    outcomes: readonly Outcome[],
    { temps, files, logged, settles }: Committed,
  ): Promise<void> {
    try {
      await logged
    } catch (cause) {
      placing.drop(temps, files, cause)
      const error = new StorageError('unavailable', 'sqlite: cannot sync a commit', { cause, unclear: true })
      for (const job of jobs) job.reject(error)
      return
    }
    if (settles) await placing.put(temps, files)
    jobs.forEach((job, at) => {
      const outcome = outcomes[at]!
      if ('error' in outcome) job.reject(outcome.error)
      else job.resolve(outcome.value)
    })
  }

  /** Deletes pending rows of synced files, without a sync: if a power failure restores the rows, their files are just written again. */
  async function clearSynced(): Promise<void> {
    if (!placing.hasSynced()) return
    await begin(db, performance.now() + patience_ms)
    try {
      const cleared = placing.clear()
      run('COMMIT')
      cleared()
    } catch (error) {
      if (db.inTransaction) run('ROLLBACK')
      throw error
    }
  }

  async function work(): Promise<void> {
    // All calls made in the same turn of the event loop belong to the group.
    await null
    while (queue.length > 0 || alone.length > 0) {
      for (const one of alone.splice(0)) await one()
      // A full group need not wait.
      if (syncing !== null && queue.length < largestGroup) await syncing
      await placing.synced(mostUnsynced)
      if (queue.length > 0) await runGroup(queue.splice(0, largestGroup))
    }
    working = null
  }

  function between<T>(one: () => T | Promise<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      alone.push(async () => {
        try {
          resolve(await one())
        } catch (error) {
          reject(error)
        }
      })
      working ??= work()
    })
  }

  const refused = () => Promise.reject(new StorageError('unavailable', 'the store is closed'))

  return {
    group,
    run<T>(job: (member: SqliteMember) => Promise<T>): Promise<T> {
      if (closed) return refused()
      return new Promise<T>((resolve, reject) => {
        queue.push({ work: job, resolve: resolve as (value: unknown) => void, reject, since: performance.now() })
        working ??= work()
      })
    },
    alone: (one) => (closed ? refused() : between(one)),
    async settled() {
      await placing.synced(0)
      await between(clearSynced)
    },
    async close() {
      closed = true
      await working
      await Promise.all(answering)
      await placing.synced(0)
      if (clearing !== null) clearTimeout(clearing)
      // Remaining files are written at the next start.
      await between(clearSynced).catch(() => {})
    },
  }
}
