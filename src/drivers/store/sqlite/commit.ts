/**
 * Group commit: transactions that are waiting at the same time share one SQLite transaction, each in a savepoint of its own. The files of
 * their decisions are in place and on stable storage before any caller is answered.
 *
 * The order ensures that a refusal means nothing was written, and a success means everything was:
 * 1. Under the write lock: rows, documents and a `pending_files` row for each file; the text of each file under a temporary name, synced;
 *    COMMIT. A full disk shows up before it, and everything is rolled back. Then the write-ahead log is synced, which would block the event
 *    loop if SQLite did it: transactions that arrive meanwhile are the next group.
 * 2. Under the write lock again, so that no older text replaces a newer one: put each file in place, sync the folders, and delete the
 *    pending rows. This commit is not synced: if a power failure undoes it, the files are just written again.
 * An error in step 2 comes after the commit, so the callers get success; the row stays, and the next commit or start writes the file.
 */
import type { Database } from 'bun:sqlite'
import { join } from 'node:path'
import { StorageError } from '../../../../sdk/storage/errors.ts'
import { type Member, newMember } from '../../../../sdk/storage/members.ts'
import { type LogWriter, messageOf } from '../../../core/log.ts'
import { begin, storageErrorOf } from '../../shared/sqlite/connect.ts'
import { emptyLog, type Statements } from './connect.ts'
import {
  closeFiles,
  dateAfter,
  type FileState,
  fileStates,
  type KnownFile,
  place,
  relativePath,
  removeFiles,
  removeTemps,
  syncFiles,
  syncFolders,
  type TempFile,
  writeTemps,
} from './files.ts'
import type { Unwritten } from './pending-files.ts'

/** A decision file that the transaction's commit must write or remove. */
export interface PendingFile {
  num: number
  revision: number
  /** Null if the file is removed. */
  text: string | null
}

export interface SqliteMember extends Member {
  /** Files of the member's decisions, by id. */
  files: Map<string, PendingFile>
}

/** State shared by the transactions of one group. */
export interface Group {
  nextSeq(): number
}

export interface Committer {
  run<T>(work: (member: SqliteMember) => Promise<T>): Promise<T>
  /** Runs `work` between two groups, outside of any transaction. */
  alone<T>(work: () => T | Promise<T>): Promise<T>
  readonly group: Group
  close(): Promise<void>
}

export interface CommitterOptions {
  db: Database
  /** Syncs the write-ahead log off the event loop. */
  syncLog(): Promise<void>
  statements: Statements
  /** Folder of the decision files. */
  root: string
  log: LogWriter
  /** Called before a file is replaced, with its state as last known. */
  beforePlacing(temp: TempFile, known: KnownFile): void
  /** Writes files from their rows, see `PendingFiles.write`; call it inside a write transaction. */
  writePending(nums: readonly number[]): Promise<Unwritten[]>
  /** Files that could not be written at the start. */
  unwritten: readonly Unwritten[]
}

interface Job {
  work(member: SqliteMember): Promise<unknown>
  resolve(value: unknown): void
  reject(error: unknown): void
  since: number
}

type Outcome = { value: unknown } | { error: unknown }

const idsOf = (files: ReadonlyMap<string, PendingFile>) => [...files].map(([id, { num }]) => ({ id, num }))

/** Larger groups would block the event loop and other processes for too long. */
const maxGroup = 64
const beginTimeout_ms = 5_000
/** A committed transaction waits longer: giving up would leave its files to the next commit. */
const placeTimeout_ms = 60_000
/** The write-ahead log is checkpointed after this time without a commit, so that commits seldom have to. */
const idle_ms = 1_000

export function committer(options: CommitterOptions): Committer {
  const { db, syncLog, statements, root, log, beforePlacing, writePending, unwritten } = options
  const lastSeq = statements.prepare<{ seq: number }, []>('select coalesce(max(seq), 0) as seq from decisions')
  const stateOf = statements.prepare<FileState, [number]>(
    'select file_size as size, file_mtime as mtime, file_hash as hash from decisions where num = ?',
  )
  const owed = statements.prepare<{ num: number }, []>('select num from pending_files')
  const clearPending = statements.prepare<unknown, [number, number]>(
    'delete from pending_files where num = ? and revision = ?',
  )
  const setState = fileStates(statements)
  const run = (sql: string) => db.query(sql).run()
  const rollback = () => {
    if (db.inTransaction) run('ROLLBACK')
  }

  const queue: Job[] = []
  const alone: (() => Promise<void>)[] = []
  /** Decisions whose files could not be put in place or removed: ids by row number. */
  const failed = new Map<number, string>()
  let working: Promise<void> | null = null
  let closed = false
  let seq: number | null = null
  let idle: Timer | undefined
  /** Whether anything was committed since the last checkpoint. */
  let isDirty = false
  /** Whether the last commit may not be on stable storage. */
  let unsynced = false

  function addFailed(files: readonly { num: number; id: string }[], error: unknown): void {
    if (files.length === 0) return
    for (const { num, id } of files) failed.set(num, id)
    log('error', 'committed decisions still lack their files; they are written at the next commit or start', {
      error: messageOf(error),
      ids: files.map(({ id }) => id),
    })
  }
  addFailed(unwritten, unwritten[0]?.error)

  async function runMember({ work }: Job, files: Map<string, PendingFile>): Promise<Outcome> {
    const member: SqliteMember = { ...newMember(), files: new Map() }
    run('SAVEPOINT member')
    try {
      const value = await work(member)
      if (member.broken !== undefined) throw member.broken
      run('RELEASE member')
      for (const [id, file] of member.files) files.set(id, file)
      return { value }
    } catch (error) {
      // If the disk is full, SQLite may have ended the transaction: nothing of the group is left.
      if (!db.inTransaction) throw error
      run('ROLLBACK TO member')
      run('RELEASE member')
      return { error }
    } finally {
      member.open = false
    }
  }

  async function commitGroup(jobs: readonly Job[]): Promise<void> {
    const files = new Map<string, PendingFile>()
    const outcomes: Outcome[] = []
    const known = new Map<string, KnownFile>()
    let temps: readonly TempFile[] = []
    let isCommitted = false
    try {
      // What follows in the log would be lost with what a failed sync left out.
      if (unsynced && !emptyLog(db)) throw new StorageError('unavailable', 'sqlite: the log can not be synced')
      unsynced = false
      await begin(db, Math.max(jobs[0]!.since + beginTimeout_ms, performance.now() + 100))
      seq = null
      // Before the members add theirs.
      const owedBefore = new Set(owed.all().map(({ num }) => num))
      for (const job of jobs) outcomes.push(await runMember(job, files))
      if (outcomes.every((outcome) => 'error' in outcome)) rollback()
      else {
        const texts = [...files].flatMap(([id, { text }]) => (text === null ? [] : [[id, text] as const]))
        temps = await writeTemps(root, new Map(texts))
        for (const temp of temps) {
          const { num } = files.get(temp.id)!
          const state = stateOf.get(num)!
          known.set(temp.id, { ...state, owed: owedBefore.has(num) })
          dateAfter(temp, state.mtime)
          setState(num, temp.state)
        }
        await syncFiles(temps)
        run('COMMIT')
        isCommitted = isDirty = unsynced = true
        await syncLog()
        unsynced = false
      }
    } catch (error) {
      rollback()
      removeTemps(temps)
      const { kind, message } = storageErrorOf(error, 'cannot commit')
      if (isCommitted) addFailed(idsOf(files), error)
      for (const job of jobs) job.reject(new StorageError(kind, message, { cause: error, outcomeUnknown: isCommitted }))
      return
    } finally {
      closeFiles(temps)
    }
    if (files.size > 0 || failed.size > 0) await putFiles(temps, files, known)
    for (const [at, outcome] of outcomes.entries()) {
      if ('error' in outcome) jobs[at]!.reject(outcome.error)
      else jobs[at]!.resolve(outcome.value)
    }
  }

  /** Puts the files of a committed group in place. Files that fail stay pending. */
  async function putFiles(
    temps: readonly TempFile[],
    files: ReadonlyMap<string, PendingFile>,
    known: ReadonlyMap<string, KnownFile>,
  ): Promise<void> {
    try {
      await begin(db, performance.now() + placeTimeout_ms)
      const texts = new Map(temps.map((temp) => [temp.id, temp]))
      for (const [id, { num, revision }] of files) {
        // Another process may have written this file already, or a newer revision of it.
        if (clearPending.run(num, revision).changes === 0) continue
        const temp = texts.get(id)
        if (temp === undefined) removeFiles(root, id)
        else {
          beforePlacing(temp, known.get(id)!)
          place(temp)
          texts.delete(id)
        }
      }
      await syncFolders([...files.keys()].map((id) => join(root, relativePath(id))))
      const tried = [...failed.keys()]
      const left = tried.length > 0 ? await writePending(tried) : []
      run('COMMIT')
      for (const num of tried) if (!left.some((one) => one.num === num)) failed.delete(num)
      removeTemps([...texts.values()])
    } catch (error) {
      rollback()
      removeTemps(temps)
      addFailed(idsOf(files), error)
    }
  }

  function checkpoint(): void {
    isDirty = false
    db.query('PRAGMA wal_checkpoint(PASSIVE)').get()
  }

  async function work(): Promise<void> {
    clearTimeout(idle)
    // All calls made in the same turn of the event loop belong to the group: the runtime runs the promises of each request before it reads
    // the next one, so awaiting a promise would make each request a group of its own.
    await new Promise(setImmediate)
    while (queue.length > 0 || alone.length > 0) {
      for (const one of alone.splice(0)) await one()
      if (queue.length > 0) await commitGroup(queue.splice(0, maxGroup))
    }
    working = null
    if (closed || !isDirty) return
    idle = setTimeout(() => void between(checkpoint).catch(() => {}), idle_ms)
    idle.unref()
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
    group: {
      nextSeq() {
        seq = (seq ?? lastSeq.get()!.seq) + 1
        return seq
      },
    },
    run<T>(job: (member: SqliteMember) => Promise<T>): Promise<T> {
      if (closed) return refused()
      return new Promise<T>((resolve, reject) => {
        queue.push({ work: job, resolve: resolve as (value: unknown) => void, reject, since: performance.now() })
        working ??= work()
      })
    },
    alone: (one) => (closed ? refused() : between(one)),
    async close() {
      closed = true
      await working
      clearTimeout(idle)
    },
  }
}
