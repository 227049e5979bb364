/**
 * Group commit: transactions that are waiting at the same time share one SQLite transaction, each in a savepoint of its own. The files of
 * their decisions are in place before any caller is answered.
 *
 * The order ensures that a refusal means nothing was written, and a success means everything was:
 * 1. Under the write lock: rows, documents and a `pending_files` row for each file; the text of each file under a temporary name; COMMIT. A
 *    full disk shows up before it, and everything is rolled back. Then the write-ahead log is synced, off the event loop, which SQLite would
 *    block: transactions that arrive meanwhile are the next group.
 * 2. Under the write lock again, so that no older text replaces a newer one: put each file in place.
 * 3. A moment later, for many groups at once and beside the next ones: sync the files and their folders, and delete the pending rows. Until
 *    then a power failure may undo a file or its rename: its row, which was synced, is still there, and the file is written again.
 * An error after step 1 comes after the commit, so the callers get success; the row stays, and the next commit or start writes the file.
 */
import type { Database } from 'bun:sqlite'
import { StorageError } from '../../../../sdk/storage/errors.ts'
import { type Member, newMember } from '../../../../sdk/storage/members.ts'
import { begin, storageErrorOf } from '../../shared/sqlite/connect.ts'
import { emptyLog, type Statements } from './connect.ts'
import {
  dateAfter,
  type FileState,
  fileStates,
  type KnownFile,
  removeTemps,
  type TempFile,
  writeTemps,
} from './files.ts'
import type { PendingFile, Placing } from './placing.ts'

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
  /** Resolves when no file that this process put in place is pending any more. */
  settle(): Promise<void>
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
  placing: Placing
}

interface Job {
  work(member: SqliteMember): Promise<unknown>
  resolve(value: unknown): void
  reject(error: unknown): void
  since: number
}

type Outcome = { value: unknown } | { error: unknown }

/** Larger groups would block the event loop and other processes for too long. */
const maxGroup = 64
const beginTimeout_ms = 5_000
/** Files and folders are synced this long after a file was put in place, once for all that follow it meanwhile. */
const settle_ms = 50
const mostUnsynced = 1_000
/** The write-ahead log is checkpointed after this time without a commit, so that commits seldom have to. */
const idle_ms = 1_000

export function committer(options: CommitterOptions): Committer {
  const { db, syncLog, statements, root, placing } = options
  const lastSeq = statements.prepare<{ seq: number }, []>('select coalesce(max(seq), 0) as seq from decisions')
  const stateOf = statements.prepare<FileState, [number]>(
    'select file_size as size, file_mtime as mtime, file_hash as hash from decisions where num = ?',
  )
  const owed = statements.prepare<{ num: number }, []>('select num from pending_files')
  const setState = fileStates(statements)
  const run = (sql: string) => db.query(sql).run()
  const rollback = () => {
    if (db.inTransaction) run('ROLLBACK')
  }

  const queue: Job[] = []
  const alone: (() => Promise<void>)[] = []
  let settling: Timer | undefined
  /** When what was put in place is pending no more. */
  let settled: Promise<void> = Promise.resolve()
  let syncing: Promise<unknown> = Promise.resolve()
  let working: Promise<void> | null = null
  let closed = false
  let seq: number | null = null
  let idle: Timer | undefined
  /** Whether anything was committed since the last checkpoint. */
  let isDirty = false
  /** Whether the last commit may not be on stable storage. */
  let unsynced = false

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
        run('COMMIT')
        isCommitted = isDirty = unsynced = true
        await syncLog()
        unsynced = false
      }
    } catch (error) {
      rollback()
      removeTemps(temps)
      const { kind, message } = storageErrorOf(error, 'cannot commit')
      if (isCommitted) placing.fail(files, error)
      for (const job of jobs) job.reject(new StorageError(kind, message, { cause: error, outcomeUnknown: isCommitted }))
      return
    }
    if (files.size > 0 || placing.owes()) {
      await placing.put(temps, files, known)
      settling ??= setTimeout(() => void settle(), settle_ms)
      // The disk is slower than what is written: all wait for it, instead of a rest that grows.
      if (placing.unsynced() > mostUnsynced) await syncing
    }
    for (const [at, outcome] of outcomes.entries()) {
      if ('error' in outcome) jobs[at]!.reject(outcome.error)
      else jobs[at]!.resolve(outcome.value)
    }
  }

  function settle(): Promise<void> {
    clearTimeout(settling)
    settling = undefined
    settled = settled.then(async () => {
      const sync = placing.sync()
      syncing = sync
      const clear = await sync
      if (clear !== null) await between(clear)
    })
    return settled
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
    settle,
    async close() {
      closed = true
      await working
      await settle()
      clearTimeout(idle)
    },
  }
}
