/**
 * Group commit: transactions that wait together share one SQLite transaction, as `members.ts` runs them, and the files of their decisions
 * are in place before anyone is answered.
 *
 * The order makes a refusal mean that nothing was written, and an answer that all of it was:
 * 1. under the write lock: rows, documents and a `pending_files` row for each file; the files' text under temporary names; COMMIT. A full
 *    disk shows up to here, and everything is rolled back. The commit decides. The files are synced while it is made, then the write-ahead log,
 *    off the event loop. What comes meanwhile gathers: answered it could not be before the next sync anyway, and one commit costs as much as ten writes.
 * 2. under the write lock again, so that no older text lands on a newer one: each file takes its place, its pending row goes.
 * What fails in step 2 has been committed and is answered as such; the row stays, and the file is written at the next commit or start.
 */

import type { Database } from 'bun:sqlite'
import { join } from 'node:path'
import { StorageError } from '../../../../sdk/storage/errors.ts'
import { type LogWriter, messageOf } from '../../../core/log.ts'
import { begin, storageErrorOf } from '../../shared/sqlite/connect.ts'
import type { Statements } from './connect.ts'
import {
  place,
  relativePath,
  removeFiles,
  removeTemps,
  syncFolders,
  type TempFile,
  type WrittenTemps,
  writeTemps,
} from './files.ts'
import { type Job, memberRunner, type Outcome, type PendingFile, type SqliteMember } from './members.ts'

/** What the transactions of one group share. */
export interface Group {
  nextSeq(): number
}

export interface Committer {
  run<T>(work: (member: SqliteMember) => Promise<T>): Promise<T>
  /** Runs something between two groups, outside of any transaction. */
  alone<T>(work: () => T | Promise<T>): Promise<T>
  readonly group: Group
  close(): Promise<void>
}

interface Waiting extends Job {
  resolve(value: unknown): void
  reject(error: unknown): void
  since: number
}

/** Longer groups would hold up the event loop and other processes. */
const largestGroup = 48
const patience_ms = 5_000

export interface CommitterOptions {
  db: Database
  statements: Statements
  /** Folder of the decisions. */
  root: string
  log: LogWriter
  /** Resolves when all that was committed before the call is on stable storage. */
  sync(): Promise<void>
  /** Called before a file is replaced. */
  beforePlacing(id: string, path: string): void
  /** Writes all pending files from the rows; called inside a write transaction. */
  writePending(): Promise<void>
}

export function committer({
  db,
  statements,
  root,
  log,
  sync,
  beforePlacing,
  writePending,
}: CommitterOptions): Committer {
  const lastSeq = statements.prepare<{ seq: number }, []>('select coalesce(max(seq), 0) as seq from decisions')
  const setState = statements.prepare<unknown, [number, number, string, number]>(
    'update decisions set file_size = ?, file_mtime = ?, file_hash = ? where num = ?',
  )
  const clearPending = statements.prepare<unknown, [number, number]>(
    'delete from pending_files where num = ? and revision = ?',
  )

  /** Prepared once: the statements of a commit are short, and parsing them would take as long. */
  const run = (sql: string) => db.query(sql).run()

  const members = memberRunner(db, statements, run)
  const queue: Waiting[] = []
  const alone: (() => Promise<void>)[] = []
  let working: Promise<void> | null = null
  let closed = false
  let hasPending = false
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
    let written: WrittenTemps | null = null
    try {
      await begin(db, Math.max(jobs[0]!.since + patience_ms, performance.now() + 100))
      seq = null
      outcomes = await members.run(jobs, files, apart)
      if (outcomes === null) run('ROLLBACK')
      else if (files.size > 0) {
        const texts = [...files].flatMap(([id, { text }]) => (text === null ? [] : [[id, text] as const]))
        written = await writeTemps(root, new Map(texts))
        for (const { id, state } of written.temps) setState.run(state.size, state.mtime, state.hash, files.get(id)!.num)
      }
      if (outcomes !== null) run('COMMIT')
    } catch (error) {
      if (db.inTransaction) run('ROLLBACK')
      await written?.discard()
      const refused = storageErrorOf(error, 'cannot commit')
      for (const job of jobs) job.reject(refused)
      return
    } finally {
      members.end()
    }
    if (outcomes === null) return runGroup(jobs, true)
    // Files are put in place by a transaction of this connection: the next group waits for it.
    const settles = written !== null || hasPending
    const { temps = [] } = written ?? {}
    const putInPlace = settles ? () => settle(temps, files, written?.synced) : null
    const logged = sync()
    const over: Promise<void> = logged
      .catch(() => {})
      .then(() => {
        if (syncing === over) syncing = null
      })
    syncing = over
    const answered = answer(jobs, outcomes, temps, logged, putInPlace).finally(() => answering.delete(answered))
    answering.add(answered)
    if (settles) await answered
  }

  /** Answers a committed group when it is durable and its files are in place. */
  async function answer(
    jobs: readonly Waiting[],
    outcomes: readonly Outcome[],
    temps: readonly TempFile[],
    logged: Promise<void>,
    putInPlace: (() => Promise<void>) | null,
  ): Promise<void> {
    try {
      await logged
    } catch (cause) {
      // Files whose text may be lost are not put in place; the next commit or start writes what was kept.
      removeTemps(temps)
      hasPending ||= temps.length > 0
      const error = new StorageError('unavailable', 'sqlite: cannot sync a commit', { cause, unclear: true })
      for (const job of jobs) job.reject(error)
      return
    }
    await putInPlace?.()
    jobs.forEach((job, at) => {
      const outcome = outcomes[at]!
      if ('error' in outcome) job.reject(outcome.error)
      else job.resolve(outcome.value)
    })
  }

  async function settle(
    temps: readonly TempFile[],
    files: ReadonlyMap<string, PendingFile>,
    synced: Promise<void> | undefined,
  ): Promise<void> {
    try {
      await synced
      await begin(db, performance.now() + 12 * patience_ms)
      // What is owed goes now, and is owed again if this is rolled back.
      const isOwed = ({ num, revision }: PendingFile): boolean => clearPending.run(num, revision).changes > 0
      const placed: TempFile[] = []
      for (const temp of temps) {
        // Another process may have written the file for us, or a newer revision of it.
        if (!isOwed(files.get(temp.id)!)) removeTemps([temp])
        else {
          beforePlacing(temp.id, temp.path)
          place(temp)
          placed.push(temp)
        }
      }
      const removed = [...files].filter(([, file]) => file.text === null && isOwed(file))
      for (const [id] of removed) removeFiles(root, id)
      await syncFolders([...placed.map(({ path }) => path), ...removed.map(([id]) => join(root, relativePath(id)))])
      if (hasPending) await writePending()
      // Not synced: should this be lost with the power, its files are merely put in place again.
      run('COMMIT')
      hasPending = false
    } catch (error) {
      if (db.inTransaction) run('ROLLBACK')
      removeTemps(temps)
      hasPending = true
      log('error', 'committed decisions still lack their files; they are written at the next commit or start', {
        error: messageOf(error),
        ids: temps.map(({ id }) => id),
      })
    }
  }

  async function work(): Promise<void> {
    // Everything called in this same turn of the loop belongs to the group.
    await null
    while (queue.length > 0 || alone.length > 0) {
      for (const one of alone.splice(0)) await one()
      // Full groups need not wait.
      if (syncing !== null && queue.length < largestGroup) await syncing
      if (queue.length > 0) await runGroup(queue.splice(0, largestGroup))
    }
    working = null
  }

  return {
    group,
    run<T>(job: (member: SqliteMember) => Promise<T>): Promise<T> {
      if (closed) return Promise.reject(new StorageError('unavailable', 'the store is closed'))
      return new Promise<T>((resolve, reject) => {
        queue.push({ work: job, resolve: resolve as (value: unknown) => void, reject, since: performance.now() })
        working ??= work()
      })
    },
    alone<T>(one: () => T | Promise<T>): Promise<T> {
      if (closed) return Promise.reject(new StorageError('unavailable', 'the store is closed'))
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
    },
    async close() {
      closed = true
      await working
      await Promise.all(answering)
    },
  }
}
