/** Finishes file writes and removals that a crashed process had committed but not completed. */
import type { Database } from 'bun:sqlite'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { begin } from '../../shared/sqlite/connect.ts'
import type { Statements } from './connect.ts'
import {
  fileStat,
  fileStates,
  hashOf,
  place,
  readPlain,
  relativePath,
  removeFiles,
  removeTemps,
  syncFiles,
  syncFolders,
  writeTemps,
} from './files.ts'
import { recordFile } from './parse.ts'

/** A decision whose file could not be written or removed, and so stays pending. */
export interface Unwritten {
  num: number
  id: string
  error: unknown
}

export interface PendingFiles {
  /** Writes the pending files of these decisions and removes those of erased ones. Call it inside a write transaction. */
  write(nums: readonly number[]): Promise<Unwritten[]>
  /** Handles all pending files in its own transaction, at the start. */
  settleAll(): Promise<Unwritten[]>
  /** Paths, below the data directory, of files that are still to be written or removed. */
  left(): string[]
  /** Removes temporary files that no process needs. Call it inside a write transaction. */
  clear(temps: readonly string[]): void
}

/** Number of files that are synced together. */
const page = 64

interface Row {
  num: number
  id: string
  mtime: number
  hash: string
  gone: number
  /** Null for one that was erased. */
  doc: string | null
}

function textOf({ doc }: Row): string {
  if (doc === null) throw new Error('the database has lost the text of a decision')
  return recordFile(JSON.parse(doc))
}

// A cross join fixes the order: `pending_files` is nearly empty, but SQLite does not know that and would scan all decisions.
export const someSql =
  'select exists (select 1 from pending_files p cross join decisions d on d.num = p.num where d.gone = 0) as some'
export const pendingSql = `select p.num, d.id, d.file_mtime as mtime, d.file_hash as hash, d.gone, c.doc
  from pending_files p cross join decisions d on d.num = p.num left join documents c on c.num = p.num
  where d.gone in (0, 2) and p.num in (select value from json_each(?))`
export const leftSql = 'select d.id from pending_files p cross join decisions d on d.num = p.num'

export function pendingFiles(db: Database, { prepare }: Statements, root: string): PendingFiles {
  const some = prepare<{ some: number }, []>(someSql)
  const all = prepare<{ num: number }, []>('select num from pending_files')
  const pending = prepare<Row, [string]>(pendingSql)
  const left = prepare<{ id: string }, []>(leftSql)
  const setState = fileStates({ prepare })
  const clearPending = prepare<unknown, [number]>('delete from pending_files where num = ?')

  /** True if the file was edited since its text was written: reconciliation then reads it instead of overwriting it. */
  function isEdited({ id, mtime, hash }: Row): boolean {
    const path = join(root, relativePath(id))
    const found = fileStat(path)
    // Also later if it was written again before and not marked as synced; then its text is compared.
    return found !== null && found.size > 0 && found.mtime > mtime && hashOf(readPlain(path)) !== hash
  }

  /** @throws if one fails; then none of them counts as done, though some files may be in place */
  async function writePage(rows: readonly Row[]): Promise<void> {
    const removed = rows.filter(({ gone }) => gone === 2)
    for (const { id } of removed) removeFiles(root, id)
    const lost = rows.filter((row) => row.gone === 0 && !isEdited(row))
    const nums = new Map(lost.map(({ id, num }) => [id, num]))
    const temps = await writeTemps(root, new Map(lost.map((row) => [row.id, textOf(row)])))
    try {
      await syncFiles(temps.map(({ temp }) => temp))
      for (const temp of temps) place(temp)
      await syncFolders(rows.map(({ id }) => join(root, relativePath(id))))
    } catch (error) {
      removeTemps(temps)
      throw error
    }
    for (const { id, state } of temps) setState(nums.get(id)!, state)
    for (const { num } of rows) clearPending.run(num)
  }

  async function write(nums: readonly number[]): Promise<Unwritten[]> {
    const unwritten: Unwritten[] = []
    for (let at = 0; at < nums.length; at += page) {
      const rows = pending.all(JSON.stringify(nums.slice(at, at + page)))
      try {
        await writePage(rows)
      } catch {
        // A file that can't be written must not block the others.
        for (const row of rows)
          await writePage([row]).catch((error) => unwritten.push({ num: row.num, id: row.id, error }))
      }
    }
    return unwritten
  }

  return {
    write,
    async settleAll() {
      if (all.get() === null) return []
      await begin(db, performance.now() + 10_000)
      try {
        const unwritten = await write(all.all().map(({ num }) => num))
        db.run('COMMIT')
        return unwritten
      } catch (error) {
        if (db.inTransaction) db.run('ROLLBACK')
        throw error
      }
    },
    left: () => left.all().map(({ id }) => `decisions/${relativePath(id)}`),
    clear(temps) {
      // While some are pending, a live process may be between commit and rename: a later comparison removes them.
      if (some.get()!.some === 0) for (const name of temps) rmSync(join(root, name), { force: true })
    },
  }
}
