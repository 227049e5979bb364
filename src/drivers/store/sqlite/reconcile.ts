/**
 * Reconciles the database with the files: the YAML file is the decision, and people edit files.
 *
 * - A file without a row is imported; an edited file is read again, and its vectors are dropped and queued.
 * - A removed file hides its decision from all reads. Row and document stay, and the decision returns with its file.
 * - A broken file is reported and left alone. Reads return its decision as it was when the file was last valid, or not at all if it never
 *   was.
 * - A write of a decision whose file was changed since keeps that file beside the new one: see `placing.ts`.
 *
 * Differences found without the lock are checked again under it, so that files that another process is just writing are not mistaken for
 * edits.
 */

import { join } from 'node:path'
import { isStorageError } from '../../../../sdk/storage/errors.ts'
import { newOutboxValue, outboxCollection } from '../../../../sdk/storage/keyed.ts'
import type { FileFinding } from '../../../../sdk/storage/store.ts'
import { type LogWriter, messageOf } from '../../../core/log.ts'
import type { Committer } from './commit.ts'
import type { Statements } from './connect.ts'
import { keyedPut } from './coordination.ts'
import type { DecisionTable } from './decisions.ts'
import { fileStat, hashOf, readPlain, relativePath } from './files.ts'
import { type ParsedFile, parseRecord } from './parse.ts'
import type { PendingFiles } from './pending-files.ts'
import type { Looking } from './survey.ts'

export interface Reconciler {
  reconcile(): Promise<FileFinding[]>
  /** Stops a running reconciliation at its next page; called when the store is closed. */
  stop(): void
}

/** A file as read outside of the lock; null if there is none. */
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
  /** Compares all files, in this thread or another. */
  look(): Looking
  now(): number
  log: LogWriter
}

const page = 128
/** The most imported files to list; rebuilding the database from the files would list all of them. */
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
    // Parsing takes longest and must not happen under the lock; a file with an unchanged hash needs none.
    if (hash !== known_hash) parsed()
    return { id, path, file: { ...stat, hash, parsed } }
  }

  /** Under the lock: decides by the current row and file. */
  function apply({ id, path, file }: Suspect): FileFinding | null {
    const row = table.find(id)
    const stored = row && stateOf.get(row.num)!
    const stat = fileStat(join(root, path))
    // Another process is writing it, or it changed since it was read: either it is correct, or the next comparison finds it.
    if (stored?.pending === 1 || stat?.size !== file?.size || stat?.mtime !== file?.mtime) return null
    if (row?.gone === 2) return file && { path, kind: 'broken', message: 'the decision was erased: delete this file' }
    if (file === null) {
      if (row === null) return null
      if (row.gone === 0) table.hide(id, row.num)
      const message = 'the file was removed: the decision is hidden until the file is back'
      return { path, kind: 'deleted', message }
    }
    if (row && row.gone === 0 && stored!.file_size === file.size && stored!.file_mtime === file.mtime) return null
    if (row && row.gone === 0 && stored!.file_hash === file.hash) {
      table.setFile(row.num, file)
      return null
    }
    const parsed = file.parsed()
    if ('problem' in parsed) {
      return { path, kind: parsed.isNewer ? 'newer' : 'broken', message: parsed.problem }
    }
    try {
      if (row === null) table.setFile(table.insert(parsed.record, 1), file)
      else {
        table.replace(row.num, parsed.record, row.revision + 1)
        table.setFile(row.num, file)
        // A file restored unchanged still has its vectors.
        if (stored!.file_hash !== file.hash) {
          dropVectors.run(row.num)
          table.touch(row.num)
        }
      }
    } catch (error) {
      if (!isStorageError(error, 'conflict')) throw error
      return { path, kind: 'broken', message: `its source key ${parsed.record.source_key} belongs to another decision` }
    }
    if (!table.get(id)!.indexed) putKeyed(outboxCollection, id, newOutboxValue, now())
    return row === null || row.gone === 1
      ? { path, kind: 'added', message: 'imported from its file' }
      : { path, kind: 'changed', message: 'reloaded: the file was edited' }
  }

  return {
    async reconcile() {
      // What this process has just put in place may be edited already.
      await commits.settle()
      looking = look()
      const { ids, findings, temps } = await looking.found.finally(() => {
        looking = null
      })
      if (temps.length > 0) await commits.run(async () => pending.clear(temps))
      for (let at = 0; at < ids.length && !stopped; at += page) {
        const suspects = ids.slice(at, at + page).map((id) => read(id, hashOfRow.get(id)?.file_hash))
        const found = await commits.run(async () => suspects.map(apply))
        for (const finding of found) if (finding !== null) findings.push(finding)
        // Lets requests run, and other processes take the lock.
        await Bun.sleep(1)
      }
      const added = findings.filter(({ kind }) => kind === 'added').length
      if (added > 0) log('info', 'decisions imported from their files', { added })
      for (const { path, kind, message } of findings) {
        // The message may quote the file, which may have any content: log only the line number.
        const line = /^line \d+/.exec(message)?.[0]
        if (kind === 'broken')
          log('error', `decision file broken: ${path}${line ? `, ${line}` : ''}; cstp doctor says what is wrong`)
        else if (kind !== 'added') log('warn', `decision file ${kind}: ${path}: ${message}`)
      }
      const rank = { newer: 0, broken: 0, deleted: 1, changed: 2, added: 3 }
      return findings.sort((a, b) => rank[a.kind] - rank[b.kind]).slice(0, mostListed)
    },
    stop() {
      stopped = true
      looking?.stop()
    },
  }
}
