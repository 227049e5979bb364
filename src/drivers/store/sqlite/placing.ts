/**
 * Puts the files of committed decisions in place and syncs them after their callers were answered. Until a file is on stable storage, its
 * row in `pending_files` stays. That row was synced with the commit: after a power failure, the next start writes the file again.
 */
import type { Database } from 'bun:sqlite'
import { join } from 'node:path'
import { sharedRun } from '../../../../sdk/storage/shared-run.ts'
import { type LogWriter, messageOf } from '../../../core/log.ts'
import { begin } from '../../shared/sqlite/connect.ts'
import type { Statements } from './connect.ts'
import {
  closeFiles,
  place,
  relativePath,
  removeFiles,
  removeTemps,
  syncFiles,
  syncFolders,
  type TempFile,
} from './files.ts'
import type { PendingFile } from './members.ts'
import type { Unwritten } from './pending-files.ts'

export interface Placer {
  /** Puts files in place, in its own transaction under the write lock. Failed files stay pending until the next commit. */
  put(temps: readonly TempFile[], files: ReadonlyMap<string, PendingFile>): Promise<void>
  /** Discards files whose commit may be lost; they stay pending until the next commit. */
  drop(temps: readonly TempFile[], files: ReadonlyMap<string, PendingFile>, error: unknown): void
  /** True if files could not be written. */
  hasFailed(): boolean
  /** Deletes the pending rows of synced files, inside a write transaction. @returns a function to call once that is committed */
  clear(): () => void
  /** Whether {@link clear} has something to do. */
  hasSynced(): boolean
  /**
   * Resolves when no file is being synced: creating files during a sync would block the event loop until the file system has written its
   * journal.
   */
  calm(): Promise<void> | undefined
  /** Resolves when at most `most` files are still to be synced. Never rejects. */
  synced(most: number): Promise<void>
}

export interface PlacerOptions {
  db: Database
  statements: Statements
  /** Folder of the decision files. */
  root: string
  log: LogWriter
  /** Called before a file is replaced. */
  beforePlacing(id: string, path: string): void
  /** Writes files from their rows, see {@link PendingFiles.write}; call it inside a write transaction. */
  writePending(nums: readonly number[]): Promise<Unwritten[]>
  /** Files that could not be written at the start. */
  unwritten: readonly Unwritten[]
  /** Called when {@link Placer.clear} has something to do. */
  wereSynced(): void
  /** Syncs open files that are in place, and their folders. */
  syncPlaced?(placed: readonly TempFile[]): Promise<void>
}

const patience_ms = 60_000
/**
 * Files are synced together, at the latest after this many or after this time: each sync commits the file system's journal, and new files
 * wait for that.
 */
const mostTogether = 96
const syncAfter_ms = 50

/** Syncs all at once, so that one commit of the file system's journal covers the files and their names. */
async function syncInPlace(placed: readonly TempFile[]): Promise<void> {
  await Promise.all([syncFiles(placed), syncFolders(placed.map(({ path }) => path))])
}

export function placer({
  db,
  statements,
  root,
  log,
  beforePlacing,
  writePending,
  wereSynced,
  unwritten,
  syncPlaced = syncInPlace,
}: PlacerOptions): Placer {
  const isPending = statements.prepare<{ num: number }, [number, number]>(
    'select num from pending_files where num = ? and revision = ?',
  )
  const clearPending = statements.prepare<unknown, [number, number]>(
    'delete from pending_files where num = ? and revision = ?',
  )
  type Placed = TempFile & Pick<PendingFile, 'num' | 'revision'>
  /** Files in place that are still to be synced. */
  let unsynced: Placed[] = []
  let syncing = 0
  let running: PromiseWithResolvers<void> | undefined
  /** Synced files whose pending rows are still to be deleted. */
  const done: Pick<PendingFile, 'num' | 'revision'>[] = []
  /** Decisions whose files could not be put in place, removed or synced: ids by row number. */
  const failed = new Map<number, string>()

  function addFailed(files: readonly { num: number; id: string }[], error: unknown): void {
    if (files.length === 0) return
    for (const { num, id } of files) failed.set(num, id)
    log('error', 'committed decisions still lack their files; they are written at the next commit or start', {
      error: messageOf(error),
      ids: files.map(({ id }) => id),
    })
  }
  addFailed(unwritten, unwritten[0]?.error)

  let later: Timer | null = null
  const sync = sharedRun(async () => {
    if (later !== null) clearTimeout(later)
    later = null
    const placed = unsynced
    unsynced = []
    syncing = placed.length
    if (syncing === 0) return
    running = Promise.withResolvers()
    try {
      await syncPlaced(placed)
      for (const { num, revision } of placed) done.push({ num, revision })
      wereSynced()
    } catch (error) {
      addFailed(placed, error)
    } finally {
      closeFiles(placed)
      syncing = 0
      running.resolve()
      running = undefined
    }
  })

  function drop(temps: readonly TempFile[], files: ReadonlyMap<string, PendingFile>, error: unknown): void {
    closeFiles(temps)
    removeTemps(temps)
    addFailed(
      [...files].map(([id, { num }]) => ({ id, num })),
      error,
    )
  }

  return {
    drop,
    calm: () => running?.promise,
    hasFailed: () => failed.size > 0,
    hasSynced: () => done.length > 0,
    async put(temps, files) {
      try {
        await begin(db, performance.now() + patience_ms)
        const placed: Placed[] = []
        const others: TempFile[] = []
        for (const temp of temps) {
          const { num, revision } = files.get(temp.id)!
          // Another process may have written this file already, or a newer revision of it.
          if (isPending.get(num, revision) === null) others.push(temp)
          else {
            beforePlacing(temp.id, temp.path)
            place(temp)
            placed.push({ ...temp, num, revision })
          }
        }
        // An erased file must be off the disk before the erasure is acknowledged.
        const removed = [...files].filter(
          ([, { num, revision, text }]) => text === null && clearPending.run(num, revision).changes > 0,
        )
        for (const [id] of removed) removeFiles(root, id)
        await syncFolders(removed.map(([id]) => join(root, relativePath(id))))
        const tried = [...failed.keys()]
        const left = tried.length > 0 ? await writePending(tried) : []
        // Not synced: if a power failure undoes this commit, its files are just removed or written again.
        db.query('COMMIT').run()
        // Keep files that a failed sync added in the meantime.
        for (const num of tried) if (!left.some((one) => one.num === num)) failed.delete(num)
        closeFiles(others)
        removeTemps(others)
        unsynced.push(...placed)
        if (unsynced.length >= mostTogether) void sync()
        else if (placed.length > 0) later ??= setTimeout(sync, syncAfter_ms)
      } catch (error) {
        if (db.inTransaction) db.run('ROLLBACK')
        drop(temps, files, error)
      }
    },
    clear() {
      const count = done.length
      for (const { num, revision } of done) clearPending.run(num, revision)
      return () => void done.splice(0, count)
    },
    async synced(most) {
      while (unsynced.length + syncing > most) await sync()
    },
  }
}
