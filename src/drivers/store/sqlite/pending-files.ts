/** Files that a process committed to and did not live to put in place, or to remove: brought level with the rows. */
import type { Database } from 'bun:sqlite'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { yamlOf } from '../../../core/yaml.ts'
import { begin } from '../../shared/sqlite/connect.ts'
import type { Statements } from './connect.ts'
import { closeFiles, fileStat, place, relativePath, removeFiles, syncFiles, syncFolders, writeTemps } from './files.ts'

export interface PendingFiles {
  /** Writes all pending files, and removes those of decisions that were erased. Call it inside a write transaction. */
  write(): Promise<void>
  /** The same in a transaction of its own, at the start. */
  settleAll(): Promise<void>
  /** Files of decisions that were erased, and are still to be removed. */
  left(): string[]
  /** Removes temporary files that no process needs any more. Call it inside a write transaction. */
  clear(temps: readonly string[]): void
}

const page = 64

export function pendingFiles(db: Database, { prepare }: Statements, root: string): PendingFiles {
  const pending = prepare<{ num: number; id: string; mtime: number; doc: string }, [number]>(
    `select p.num, d.id, d.file_mtime as mtime, c.doc from pending_files p join decisions d on d.num = p.num join documents c on c.num = p.num
     where d.gone = 0 limit ?`,
  )
  const erased = prepare<{ num: number; id: string }, []>(
    'select p.num, d.id from pending_files p join decisions d on d.num = p.num where d.gone = 2',
  )
  const setState = prepare<unknown, [number, number, string, number]>(
    'update decisions set file_size = ?, file_mtime = ?, file_hash = ? where num = ?',
  )
  const clearPending = prepare<unknown, [number]>('delete from pending_files where num = ?')

  /** Whether somebody has edited the file since its text was written: it is read, as all that differ, and not written again. */
  function isEdited(id: string, mtime: number): boolean {
    const found = fileStat(join(root, relativePath(id)))
    return found !== null && found.size > 0 && found.mtime > mtime
  }

  async function write(): Promise<void> {
    const removed = erased.all()
    for (const { id } of removed) removeFiles(root, id)
    await syncFolders(removed.map(({ id }) => join(root, relativePath(id))))
    for (const { num } of removed) clearPending.run(num)
    for (let rows = pending.all(page); rows.length > 0; rows = pending.all(page)) {
      const nums = new Map(rows.map(({ id, num }) => [id, num]))
      const [edited, lost] = [true, false].map((is) => rows.filter(({ id, mtime }) => isEdited(id, mtime) === is))
      for (const { num } of edited!) clearPending.run(num)
      const temps = await writeTemps(root, new Map(lost!.map(({ id, doc }) => [id, yamlOf(JSON.parse(doc))])))
      await syncFiles(temps).finally(() => closeFiles(temps))
      for (const temp of temps) place(temp)
      await syncFolders(temps.map(({ path }) => path))
      for (const { id, state } of temps) {
        setState.run(state.size, state.mtime, state.hash, nums.get(id)!)
        clearPending.run(nums.get(id)!)
      }
    }
  }

  return {
    write,
    async settleAll() {
      if (pending.get(1) === null && erased.get() === null) return
      await begin(db, performance.now() + 10_000)
      try {
        await write()
        db.run('COMMIT')
      } catch (error) {
        if (db.inTransaction) db.run('ROLLBACK')
        throw error
      }
    },
    left: () => erased.all().map(({ id }) => `decisions/${relativePath(id)}`),
    clear(temps) {
      // Where some are pending, a living process may be between its commit and its renames: a later look clears them.
      if (pending.get(1) === null) for (const name of temps) rmSync(join(root, name), { force: true })
    },
  }
}
