/** Copies a database while others write to it, and the decision files that belong to the copy. */
import { join } from 'node:path'
import { openExisting, storageErrorOf, versionOf } from '../../shared/sqlite/connect.ts'
import { filesBelow, hashOf, isKept, readPlain, relativePath } from './files.ts'
import { recordFile } from './parse.ts'

/**
 * Writes a consistent copy of the database to a file that does not exist yet. Writers are not blocked.
 * @throws StorageError if the database can't be read or written, or is damaged
 */
export function copyDatabase(from: string, to: string): { version: number } {
  const db = openExisting(from)
  try {
    db.query('VACUUM INTO ?').run(to)
    return { version: versionOf(db) }
  } catch (error) {
    throw storageErrorOf(error, `cannot copy ${from}`)
  } finally {
    db.close()
  }
}

interface Row {
  num: number
  id: string
  revision: number
  file_hash: string
  doc: string
}
interface LiveRow {
  revision: number
  gone: number
  pending: number
}

const page = 256

/**
 * The file of each decision in the state of a copied database, by its path below `decisions/`. A file edited by hand that is not imported
 * yet is included as it is, since the file is the decision. If a file holds a later revision, its text is generated from the copy.
 * @param dir the data directory that the copy was made from
 */
export function* decisionFiles(dir: string, copy: string): Generator<{ path: string; content: Uint8Array }> {
  const root = join(dir, 'decisions')
  const [old, live] = [openExisting(copy), openExisting(join(dir, 'cstp.db'))]
  try {
    const rows = old.query<Row, [number, number]>(
      `select d.num, d.id, d.revision, d.file_hash, c.doc from decisions d join documents c using (num)
       where d.gone = 0 and d.num > ? order by d.num limit ?`,
    )
    const liveRow = live.query<LiveRow, [string]>(
      `select revision, gone, exists (select 1 from pending_files p where p.num = d.num) as pending from decisions d where id = ?`,
    )
    const known = new Set<string>()
    for (let found = rows.all(-1, page); found.length > 0; found = rows.all(found.at(-1)!.num, page)) {
      for (const { id, revision, file_hash, doc } of found) {
        const path = relativePath(id)
        known.add(path)
        const content = read(join(root, path))
        if (content !== null && hashOf(content) === file_hash) {
          yield { path, content }
          continue
        }
        // Read the row after the file: a write updates the row before it replaces the file.
        const now = liveRow.get(id)
        const later = now === null || now.revision !== revision || now.pending === 1
        if (later) yield { path, content: Buffer.from(recordFile(JSON.parse(doc))) }
        else if (content !== null) yield { path, content }
      }
    }
    for (const { path, link } of filesBelow(root)) {
      if (link || !(path.endsWith('.yaml') || isKept(path)) || known.has(path)) continue
      const id = path.slice(path.lastIndexOf('/') + 1, -'.yaml'.length)
      // The decision is newer than the copy.
      if (liveRow.get(id)?.gone === 0) continue
      const content = read(join(root, path))
      if (content !== null) yield { path, content }
    }
  } finally {
    live.close()
    old.close()
  }
}

function read(path: string): Uint8Array | null {
  try {
    return readPlain(path)
  } catch (error) {
    if (['ENOENT', 'EISDIR', 'ELOOP'].includes((error as NodeJS.ErrnoException).code ?? '')) return null
    throw error
  }
}
