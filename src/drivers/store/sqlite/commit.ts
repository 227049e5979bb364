/**
 * Group commit: transactions that wait together share one SQLite transaction, as `members.ts` runs them, and the files of their decisions
 * are in place before anyone is answered.
 *
 * The order makes a refusal mean that nothing was written, and an answer that all of it was:
 * 1. under the write lock: rows, documents and a `pending_files` row for each file; the files' text under temporary names; COMMIT. A full
 *    disk shows up to here, and everything is rolled back. The commit decides. The write-ahead log is synced off the event loop.
 *    What comes meanwhile gathers: answered it could not be before the next sync anyway, and one commit costs as much as ten writes.
 * 2. under the write lock again, so that no older text lands on a newer one: each file takes its place, as `placing.ts` does it. Then the answer.
 * 3. The files are synced, and in the next group, or soon where there is none, their pending rows go.
 * What fails in step 2 or 3 has been committed and is answered as such; the row stays, and the file is written at the next commit or start.
 */

import { StorageError } from '../../../../sdk/storage/errors.ts'
import { begin, storageErrorOf } from '../../shared/sqlite/connect.ts'
import { closeFiles, dateAfter, fileStates, removeTemps, type TempFile, writeTemps } from './files.ts'
import { type Job, memberRunner, type Outcome, type PendingFile, type SqliteMember } from './members.ts'
import { type PlacerOptions, placer } from './placing.ts'

/** What the transactions of one group share. */
export interface Group {
  nextSeq(): number
}

export interface Committer {
  run<T>(work: (member: SqliteMember) => Promise<T>): Promise<T>
  /** Runs something between two groups, outside of any transaction. */
  alone<T>(work: () => T | Promise<T>): Promise<T>
  /** Resolves when no file of what was answered is owed any more, unless it could not be written. */
  settled(): Promise<void>
  readonly group: Group
  close(): Promise<void>
}

interface Waiting extends Job {
  resolve(value: unknown): void
  reject(error: unknown): void
  since: number
}

/** What is still to be done for a group after its COMMIT. */
interface Committed {
  temps: readonly TempFile[]
  files: ReadonlyMap<string, PendingFile>
  /** Resolves when the commit is on stable storage. */
  logged: Promise<void>
  /** Whether files are to be put in place. */
  settles: boolean
}

/** Longer groups would hold up the event loop and other processes. */
const largestGroup = 48
const patience_ms = 5_000
/** More files than these are not left to be synced: a disk that can't follow holds the writers up. */
const mostUnsynced = 4 * largestGroup
/** Rows of files that were synced go with the next group, or alone after this. */
const clearAfter_ms = 20

export interface CommitterOptions extends Omit<PlacerOptions, 'wereSynced'> {
  /** Resolves when all that was committed before the call is on stable storage. */
  sync(): Promise<void>
}

export function committer({ sync, ...options }: CommitterOptions): Committer {
  const { db, statements, root } = options
  const lastSeq = statements.prepare<{ seq: number }, []>('select coalesce(max(seq), 0) as seq from decisions')
  const setState = fileStates(statements)
  const mtimeOf = statements.prepare<{ file_mtime: number }, [number]>('select file_mtime from decisions where num = ?')
  /** Prepared once: the statements of a commit are short, and parsing them would take as long. */
  const run = (sql: string) => db.query(sql).run()

  const members = memberRunner(db, statements, run)
  const queue: Waiting[] = []
  const alone: (() => Promise<void>)[] = []
  let working: Promise<void> | null = null
  let closed = false
  let clearing: Timer | null = null
  const owed = placer({
    ...options,
    wereSynced() {
      clearing ??= setTimeout(() => {
        clearing = null
        // Rows that stay go with the next group.
        between(clearOwed).catch(() => {})
      }, clearAfter_ms)
    },
  })
  let seq: number | null = null
  /** Of the last group's commit, while it is under way; never rejects. */
  let syncing: Promise<void> | null = null
  const answering = new Set<Promise<void>>()
  const group: Group = {
    nextSeq() {
      seq = (seq ?? lastSeq.get()!.seq) + 1
      return seq
    },
  }

  /** @param apart whether each job has a savepoint of its own */
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
        if (texts.length > 0) await owed.calm()
        temps = await writeTemps(root, new Map(texts))
        for (const temp of temps) {
          const { num } = files.get(temp.id)!
          dateAfter(temp, mtimeOf.get(num)?.file_mtime ?? 0)
          setState(num, temp.state)
        }
        const cleared = owed.clear()
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
    // Files are put in place by a transaction of this connection: the next group waits for it.
    const settles = files.size > 0 || owed.owes()
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

  /** Answers a committed group when it is durable and its files are in place. */
  async function answer(
    jobs: readonly Waiting[],
    outcomes: readonly Outcome[],
    { temps, files, logged, settles }: Committed,
  ): Promise<void> {
    try {
      await logged
    } catch (cause) {
      owed.drop(temps, files, cause)
      const error = new StorageError('unavailable', 'sqlite: cannot sync a commit', { cause, unclear: true })
      for (const job of jobs) job.reject(error)
      return
    }
    if (settles) await owed.put(temps, files)
    jobs.forEach((job, at) => {
      const outcome = outcomes[at]!
      if ('error' in outcome) job.reject(outcome.error)
      else job.resolve(outcome.value)
    })
  }

  /** Not synced: rows that come back with the power have their files written again. */
  async function clearOwed(): Promise<void> {
    if (!owed.hasSynced()) return
    await begin(db, performance.now() + patience_ms)
    try {
      const cleared = owed.clear()
      run('COMMIT')
      cleared()
    } catch (error) {
      if (db.inTransaction) run('ROLLBACK')
      throw error
    }
  }

  async function work(): Promise<void> {
    // Everything called in this same turn of the loop belongs to the group.
    await null
    while (queue.length > 0 || alone.length > 0) {
      for (const one of alone.splice(0)) await one()
      // Full groups need not wait.
      if (syncing !== null && queue.length < largestGroup) await syncing
      await owed.synced(mostUnsynced)
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
      await owed.synced(0)
      await between(clearOwed)
    },
    async close() {
      closed = true
      await working
      await Promise.all(answering)
      await owed.synced(0)
      if (clearing !== null) clearTimeout(clearing)
      // What stays is written at the next start.
      await between(clearOwed).catch(() => {})
    },
  }
}
