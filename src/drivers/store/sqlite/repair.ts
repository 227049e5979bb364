/** Files of decisions that are gone as a whole, and how they are written again from the database. */
import type { Database } from 'bun:sqlite'
import { existsSync, mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { StorageError } from '../../../../sdk/storage/errors.ts'
import { begin, storageErrorOf } from '../../shared/sqlite/connect.ts'
import { connect, statementsOf } from './connect.ts'
import { fileStates, place, relativePath, syncFiles, syncFolders, writeTemps } from './files.ts'
import { recordFile } from './parse.ts'

/** Whether a folder is missing or empty, as where a disk is not mounted. */
const isEmpty = (folder: string): boolean =>
  !existsSync(folder) || readdirSync(folder).every((name) => /^\.|^lost\+found$/.test(name))

/** What is wrong if the files of all decisions are gone; else null. */
export function lostFiles(db: Database, root: string): string | null {
  if (!isEmpty(root)) return null
  // A first decision may be committed, and its file not be in place yet; the start writes it.
  const count = 'select count(*) as n from decisions where gone < 2 and num not in (select num from pending_files)'
  const { n } = db.query<{ n: number }, []>(count).get()!
  return n === 0 || !isEmpty(root) ? null : `${root} has no files, and the database has ${n} decisions`
}

/** What to do about it. */
export const filesBack =
  'Mount the folder or put it back; if its files are lost, cstp repair --files writes them again from the database'

/** @throws StorageError `invalid` */
export function refuseLostFiles(db: Database, root: string): void {
  const lost = lostFiles(db, root)
  if (lost !== null) throw new StorageError('invalid', `sqlite: ${lost}. ${filesBack}`)
}

interface Row {
  num: number
  id: string
  gone: number
  doc: string
}
const page = 64

/**
 * Writes the file of each decision that has none, also of those that are hidden since then: the next start takes them in again. Running
 * servers may continue.
 * @returns the number of files written
 * @throws StorageError
 */
export async function writeLostFiles(dir: string): Promise<number> {
  const root = join(dir, 'decisions')
  const { writer: db, reader } = await connect(dir)
  const statements = statementsOf(db)
  let written = 0
  try {
    mkdirSync(root, { recursive: true, mode: 0o700 })
    const setState = fileStates(statements)
    const after = statements.prepare<Row, [number, number]>(
      `select d.num, d.id, d.gone, c.doc from decisions d join documents c using (num) where d.gone < 2 and d.num > ?
       order by d.num limit ?`,
    )
    for (let last = -1; ; ) {
      await begin(db, performance.now() + 10_000)
      const rows = after.all(last, page)
      const lost = rows.filter(({ id }) => !existsSync(join(root, relativePath(id))))
      const temps = await writeTemps(root, new Map(lost.map(({ id, doc }) => [id, recordFile(JSON.parse(doc))])))
      await syncFiles(temps.map(({ temp }) => temp))
      for (const [at, temp] of temps.entries()) {
        place(temp)
        // A hidden one is read again and shown, as after its file was put back by hand.
        if (lost[at]!.gone === 0) setState(lost[at]!.num, temp.state)
      }
      await syncFolders(temps.map(({ path }) => path))
      db.run('COMMIT')
      written += temps.length
      if (rows.length < page) return written
      last = rows.at(-1)!.num
    }
  } catch (error) {
    throw storageErrorOf(error, `cannot write the files of ${dir}`)
  } finally {
    statements.finalize()
    reader.close()
    db.close()
  }
}
