/**
 * Brings the catalogue level with the files: the YAML file is the decision, and people edit files.
 *
 * - A file without a row is imported; one that was edited is read again, its vectors dropped and queued.
 * - A file that was taken away hides its decision from every answer; row and document stay, and the file coming back brings it back.
 * - A broken file is reported and left alone: its decision is answered as it was when the file was last whole, or not at all where it
 *   never was. The next write of that decision keeps the broken file beside the new one, as `<name>.broken`.
 *
 * What looks wrong without the lock is looked at again under it, so that another process's files in flight are never mistaken.
 */

import { existsSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { isStorageError } from '../../../../sdk/storage/errors.ts'
import { newOutboxValue, outboxCollection } from '../../../../sdk/storage/keyed.ts'
import { type LogWriter, messageOf } from '../../../core/log.ts'
import type { Committer } from './commit.ts'
import type { Statements } from './connect.ts'
import { keyedPut } from './coordination.ts'
import type { DecisionTable } from './decisions.ts'
import { fileStat, hashOf, readPlain, relativePath } from './files.ts'
import { type ParsedFile, parseRecord } from './parse.ts'
import type { PendingFiles } from './pending-files.ts'
import type { Finding, Looking } from './survey.ts'

export interface Reconciler {
  reconcile(): Promise<Finding[]>
  /** Ends one that is under way at its next page, as the store is closed. */
  stop(): void
  /** Saves a broken file from the write that replaces it. */
  beforePlacing(id: string, path: string): void
}

/** A file as it was read outside of the lock; null content where there is none. */
interface Suspect {
  id: string
  path: string
  file: { size: number; mtime: number; hash: string; parsed(): ParsedFile } | null
}

export interface ReconcilerOptions {
  statements: Statements
  root: string
  table: DecisionTable
  commits: Committer
  pending: Pick<PendingFiles, 'clear'>
  /** Looks at all files, here or in a thread. */
  look(): Looking
  now(): number
  log: LogWriter
}

const page = 128
/** Imported files are listed up to this many; a catalogue rebuilt from the files would list them all. */
const mostListed = 1_000

export function reconciler({
  statements,
  root,
  table,
  commits,
  pending,
  look,
  now,
  log,
}: ReconcilerOptions): Reconciler {
  const { prepare } = statements
  const stateOf = prepare<{ file_size: number; file_mtime: number; file_hash: string; pending: number }, [number]>(
    `select file_size, file_mtime, file_hash, exists (select 1 from pending_files p where p.num = d.num) as pending
     from decisions d where num = ?`,
  )
  const dropVectors = prepare<unknown, [number]>(
    'delete from embeddings where num = ? and generation in (select number from generations)',
  )
  const putKeyed = keyedPut(statements)
  const hashOfRow = prepare<{ file_hash: string }, [string]>('select file_hash from decisions where id = ?')
  const broken = new Set<string>()
  let stopped = false
  let looking: Looking | null = null

  function read(id: string, known_hash: string | undefined): Suspect {
    const path = relativePath(id)
    const stat = fileStat(join(root, path))
    if (stat === null) return { id, path, file: null }
    let content: Uint8Array
    try {
      content = readPlain(join(root, path))
    } catch (error) {
      const problem = `cannot be read: ${messageOf(error)}`
      return { id, path, file: { ...stat, hash: '', parsed: () => ({ problem }) } }
    }
    const hash = hashOf(content)
    let made: ParsedFile | undefined
    const parsed = () => {
      made ??= parseRecord(content, id)
      return made
    }
    // Parsing takes longest, and must not be done under the lock; a file that was only touched needs none.
    if (hash !== known_hash) parsed()
    return { id, path, file: { ...stat, hash, parsed } }
  }

  /** Under the lock: decides from the row and the file as they are now. */
  function apply({ id, path, file }: Suspect): Finding | null {
    const row = table.find(id)
    const stored = row && stateOf.get(row.num)!
    const stat = fileStat(join(root, path))
    // Somebody is just writing it, or it changed since it was read: it is right, or the next look will see it.
    if (stored?.pending === 1 || stat?.size !== file?.size || stat?.mtime !== file?.mtime) return null
    if (row?.gone === 2) return file && { path, kind: 'broken', message: 'the decision was erased: delete this file' }
    if (file === null) {
      if (row === null) return null
      if (row.gone === 0) table.hide(id, row.num)
      const message = 'the file was taken away: the decision is out of every answer until it is back'
      return { path, kind: 'deleted', message }
    }
    if (row && row.gone === 0 && stored!.file_size === file.size && stored!.file_mtime === file.mtime) return null
    if (row && row.gone === 0 && stored!.file_hash === file.hash) {
      table.setFile(row.num, file)
      return null
    }
    const parsed = file.parsed()
    if ('problem' in parsed) {
      broken.add(id)
      return { path, kind: 'broken', message: parsed.problem }
    }
    try {
      if (row === null) table.setFile(table.insert(parsed.record, 1), file)
      else {
        table.replace(row.num, parsed.record, row.revision + 1)
        table.setFile(row.num, file)
        // Restored as it was, it still has its vectors.
        if (stored!.file_hash !== file.hash) {
          dropVectors.run(row.num)
          table.touch(row.num)
        }
      }
    } catch (error) {
      if (!isStorageError(error, 'conflict')) throw error
      broken.add(id)
      return { path, kind: 'broken', message: `its source key ${parsed.record.source_key} belongs to another decision` }
    }
    broken.delete(id)
    if (!table.get(id)!.indexed) putKeyed(outboxCollection, id, newOutboxValue, now())
    return row === null || row.gone === 1
      ? { path, kind: 'added', message: 'taken in from its file' }
      : { path, kind: 'changed', message: 'read again: the file was edited' }
  }

  return {
    async reconcile() {
      // A file that is owed would be passed over, though somebody has edited it.
      await commits.settled()
      looking = look()
      const { ids, findings, temps } = await looking.found.finally(() => {
        looking = null
      })
      broken.clear()
      if (temps.length > 0) await commits.run(async () => pending.clear(temps))
      for (let at = 0; at < ids.length && !stopped; at += page) {
        const suspects = ids.slice(at, at + page).map((id) => read(id, hashOfRow.get(id)?.file_hash))
        const found = await commits.run(async () => suspects.map(apply))
        for (const finding of found) if (finding !== null) findings.push(finding)
        // Lets requests in, and other processes to the lock.
        await Bun.sleep(1)
      }
      const added = findings.filter(({ kind }) => kind === 'added').length
      if (added > 0) log('info', 'decisions taken in from their files', { added })
      for (const { path, kind, message } of findings) {
        // What is wrong with a file may quote it, and it may be any file: the log has the line alone.
        const line = /^line \d+/.exec(message)?.[0]
        if (kind === 'broken')
          log('error', `decision file broken: ${path}${line ? `, ${line}` : ''}; cstp doctor says what is wrong`)
        else if (kind !== 'added') log('warn', `decision file ${kind}: ${path}: ${message}`)
      }
      const rank = { broken: 0, deleted: 1, changed: 2, added: 3 }
      return findings.sort((a, b) => rank[a.kind] - rank[b.kind]).slice(0, mostListed)
    },
    stop() {
      stopped = true
      looking?.stop()
    },
    beforePlacing(id, path) {
      if (broken.delete(id) && existsSync(path)) renameSync(path, `${path}.broken`)
    },
  }
}
