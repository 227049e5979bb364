/** Puts the files of committed decisions in place, and makes that durable a moment later. Nothing here fails a commit: a file that can't be placed stays pending. */
import type { Database } from 'bun:sqlite'
import { join, relative } from 'node:path'
import { type LogWriter, messageOf } from '../../../core/log.ts'
import { begin } from '../../shared/sqlite/connect.ts'
import type { Statements } from './connect.ts'
import {
  fileStat,
  hashOf,
  type KnownFile,
  keepBeside,
  place,
  readPlain,
  relativePath,
  removeFiles,
  removeTemps,
  syncFiles,
  syncFolders,
  type TempFile,
} from './files.ts'
import { parseRecord } from './parse.ts'
import type { Unwritten } from './pending-files.ts'

/** A decision file that the transaction's commit must write or remove. */
export interface PendingFile {
  num: number
  revision: number
  /** Null if the file is removed. */
  text: string | null
}

type Files = ReadonlyMap<string, PendingFile>
type Placed = ReadonlyMap<string, Omit<PendingFile, 'text'>>

export interface Placing {
  /**
   * Puts the files of a committed group in place, and those that failed before.
   * @param known what was known of the files that are replaced, by id
   */
  put(temps: readonly TempFile[], files: Files, known: ReadonlyMap<string, KnownFile>): Promise<void>
  /** Syncs the files that were put in place, and their folders. @returns what makes them pending no more; null if there are none */
  sync(): Promise<(() => Promise<unknown>) | null>
  /** Number of files in place that wait for {@link sync}. */
  unsynced(): number
  /** Leaves the files of a committed group to the next one. */
  fail(files: Files, error: unknown): void
  /** Whether files are left of earlier groups. */
  owes(): boolean
}

export interface PlacingOptions {
  db: Database
  statements: Statements
  /** Folder of the decision files. */
  root: string
  log: LogWriter
  /** Writes files from their rows, see `PendingFiles.write`; call it inside a write transaction. */
  writePending(nums: readonly number[]): Promise<Unwritten[]>
  /** Files that could not be written at the start. */
  unwritten: readonly Unwritten[]
}

/** A committed transaction waits longer than others: giving up would leave its files to the next commit. */
const timeout_ms = 60_000

export function placer({ db, statements, root, log, writePending, unwritten }: PlacingOptions): Placing {
  const isPending = statements.prepare<unknown, [number, number]>(
    'select 1 from pending_files where num = ? and revision = ?',
  )
  const clearPending = statements.prepare<unknown, [number, number]>(
    'delete from pending_files where num = ? and revision = ?',
  )
  /** Decisions whose files could not be put in place or removed: ids by row number. */
  const failed = new Map<number, string>()
  /** Files in place that are not synced yet, by id. */
  let placed = new Map<string, Omit<PendingFile, 'text'>>()

  function addFailed(files: readonly { num: number; id: string }[], error: unknown): void {
    if (files.length === 0) return
    for (const { num, id } of files) failed.set(num, id)
    log('error', 'committed decisions still lack their files; they are written at the next commit or start', {
      error: messageOf(error),
      ids: files.map(({ id }) => id),
    })
  }
  addFailed(unwritten, unwritten[0]?.error)

  const fail = (files: Placed, error: unknown) =>
    addFailed(
      [...files].map(([id, { num }]) => ({ id, num })),
      error,
    )

  /**
   * Keeps a file that a person changed beside the one that replaces it: as `<name>.edited`, `<name>.broken`, or `<name>.newer` if a newer
   * program wrote it.
   * @param known its state as it was written last
   */
  function keepEdited({ id, path, state }: TempFile, known: KnownFile): void {
    const stat = fileStat(path)
    if (stat === null || (stat.size === known.size && stat.mtime === known.mtime)) return
    if (known.owed && stat.mtime <= known.mtime) return
    const content = readPlain(path)
    if ([known.hash, state.hash].includes(hashOf(content))) return
    const parsed = parseRecord(content, id)
    const kind = !('problem' in parsed) ? 'edited' : parsed.isNewer ? 'newer' : 'broken'
    const aside = keepBeside(path, kind)
    log(
      'warn',
      'a decision file was changed by hand, and its decision by a call before the file was read: both are kept',
      {
        id,
        kept: relative(root, aside),
      },
    )
  }

  /** Works under the write lock. @returns whether that was done */
  async function locked(files: Placed, work: () => unknown): Promise<boolean> {
    try {
      await begin(db, performance.now() + timeout_ms)
      await work()
      db.query('COMMIT').run()
      return true
    } catch (error) {
      if (db.inTransaction) db.query('ROLLBACK').run()
      fail(files, error)
      return false
    }
  }

  return {
    async put(temps, files, known) {
      const texts = new Map(temps.map((temp) => [temp.id, temp]))
      let written: number[] = []
      const isDone = await locked(files, async () => {
        for (const [id, file] of files) {
          // Another process may have written this file already, or a newer revision of it.
          if (isPending.get(file.num, file.revision) === null) continue
          const temp = texts.get(id)
          if (temp === undefined) removeFiles(root, id)
          else {
            keepEdited(temp, known.get(id)!)
            place(temp)
            texts.delete(id)
          }
          placed.set(id, { num: file.num, revision: file.revision })
        }
        const tried = [...failed.keys()]
        const left = tried.length > 0 ? await writePending(tried) : []
        written = tried.filter((num) => !left.some((one) => one.num === num))
      })
      if (isDone) for (const num of written) failed.delete(num)
      removeTemps([...texts.values()])
    },
    async sync() {
      if (placed.size === 0) return null
      const files = placed
      placed = new Map()
      try {
        const paths = [...files.keys()].map((id) => join(root, relativePath(id)))
        await syncFiles(paths)
        await syncFolders(paths)
      } catch (error) {
        fail(files, error)
        return null
      }
      return () =>
        locked(files, () => {
          for (const { num, revision } of files.values()) clearPending.run(num, revision)
        })
    },
    unsynced: () => placed.size,
    fail,
    owes: () => failed.size > 0,
  }
}
