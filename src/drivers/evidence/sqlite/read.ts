/** Reads of an evidence database. */
import type { Database } from 'bun:sqlite'
import { StorageError } from '../../../../sdk/storage/errors.ts'
import type { EvidenceFact, EvidenceHead, EvidenceRecord, StoredCheckpoint } from '../../../../sdk/storage/evidence.ts'
import { checkpointColumns, contiguous, type HeadRow, headOf } from '../../shared/log-rows.ts'
import { afterHashes, type EvidenceReads, isCommit } from '../rows.ts'

/** Records searched without a pause; other work can run between two batches. */
const searched = 20_000
export const columns = ['ts', 'source', 'event_type', 'evidence_class', 'payload', 'prev_hash', 'hash'] as const
const factColumns = ['source', 'event_type', 'evidence_class', 'payload'] as const

/** SQL for the integer `pr_number` of a payload; null if there is none, or if the payload is not JSON. */
export const prNumber = (payload: string): string =>
  `case when json_valid(${payload}) then case when json_type(${payload}, '$.pr_number') = 'integer'
   then json_extract(${payload}, '$.pr_number') end end`

/** SQL for the commit hash in a field of a payload; null if there is none, or if the payload is not JSON. */
export const commitIn = (payload: string, field: string): string => {
  const value = `json_extract(${payload}, '$.${field}')`
  return `case when json_valid(${payload}) then case when json_type(${payload}, '$.${field}') = 'text'
   and length(${value}) in (40, 64) and ${value} not glob '*[^0-9a-f]*' then ${value} end end`
}

/** Reads the stored head. @throws StorageError `corrupt` if it is not a head */
export function headReader(db: Database): () => EvidenceHead {
  const select = db.prepare<HeadRow, []>('select seq, hash, frontier from head')
  return () => headOf(select.get(), 'sqlite evidence')
}

/** Reads these columns of the records from `seq` on. */
function pageReader<Row extends EvidenceFact>(
  db: Database,
  names: readonly (keyof Row & string)[],
): (seq: number, limit: number) => Row[] {
  const from = db.prepare<Row, [number, number]>(`select seq, ${names} from events where seq >= ? order by seq limit ?`)
  // Records below 1 were not written by this program; a read from the start includes them.
  const fromStart = db.prepare<Row, [number]>(`select seq, ${names} from events order by seq limit ?`)
  const bytes = db.prepare<Record<string, Uint8Array>, [number]>(
    `select ${names.map((name) => `cast(${name} as blob) as ${name}`)} from events where seq = ?`,
  )

  /** SQLite's text may contain any bytes. Bytes that are not UTF-8 are read as U+FFFD, like a stored U+FFFD. */
  function isAsStored(record: Row): boolean {
    for (const name of names) {
      const value = record[name]
      if (typeof value !== 'string' || !value.includes('\ufffd')) continue
      const row = bytes.get(record.seq)
      return row === null || names.every((one) => Buffer.from(String(record[one])).equals(row[one]!))
    }
    return true
  }
  return (seq, limit) => {
    const rows = seq <= 1 ? fromStart.all(limit) : from.all(seq, limit)
    for (const row of rows)
      if (!isAsStored(row)) throw new StorageError('corrupt', `sqlite evidence: record ${row.seq} is not UTF-8 text`)
    return rows
  }
}

export function reads(db: Database): EvidenceReads {
  const head = headReader(db)
  const records = pageReader<EvidenceRecord>(db, columns)
  const facts = pageReader<EvidenceFact>(db, factColumns)
  const hashes = db.prepare<{ hash: string }, [number, number]>(
    'select hash from events where seq >= ? order by seq limit ?',
  )
  const nodes = db.prepare<{ at: number; hash: string }, [number, number, number]>(
    'select "index" as at, hash from nodes where level = ? and "index" >= ? order by "index" limit ?',
  )
  // The payload is compared again: rows written by other programs may not match the index.
  const ofPullRequest = db.prepare<EvidenceRecord, [number, number, number]>(
    `select e.seq, ${columns.map((name) => `e.${name}`)} from pull_requests p join events e on e.seq = p.seq
     where p.pr_number = ? and p.seq >= ? and ${prNumber('e.payload')} = p.pr_number order by p.seq limit ?`,
  )
  const ofCommit = db.prepare<EvidenceRecord, [string, number, number]>(
    `select e.seq, ${columns.map((name) => `e.${name}`)} from commits c join events e on e.seq = c.seq
     where c.sha = ? and c.seq >= ? and c.sha in (${commitIn('e.payload', 'sha')}, ${commitIn('e.payload', 'merge_commit_sha')})
     order by c.seq limit ?`,
  )
  const isBetween = (field: string) =>
    `(${commitIn('e.payload', field)} >= ?1 and ${commitIn('e.payload', field)} < ?2)`
  const ofCommits = db.prepare<EvidenceRecord, [string, string, number, number]>(
    `select e.seq, ${columns.map((name) => `e.${name}`)} from events e
     where e.seq in (select seq from commits where sha >= ?1 and sha < ?2 and seq >= ?3)
     and (${isBetween('sha')} or ${isBetween('merge_commit_sha')}) order by e.seq limit ?4`,
  )
  const last = db.prepare<{ seq: number | null }, []>('select max(seq) as seq from events')
  const found = db.prepare<{ seq: number }, [number, number, string]>(
    'select seq from events where seq > ? and seq <= ? and hash = ? limit 1',
  )
  const checkpoints = db.prepare<Omit<StoredCheckpoint, 'exported'> & { exported: number }, []>(
    `select ${checkpointColumns} from checkpoints order by number`,
  )

  return {
    head: async () => head(),
    read: async (seq, limit) => records(seq, limit),
    facts: async (seq, limit) => facts(seq, limit),
    hashes: async (seq, limit) => hashes.all(Math.max(1, seq), limit).map(({ hash }) => hash),
    nodes: async (level, index, limit) => contiguous(nodes.all(level, index, limit), index),
    ofPullRequest: async (pr_number, seq, limit) => ofPullRequest.all(pr_number, seq, limit),
    ofCommit: async (sha, seq, limit) =>
      isCommit(sha) ? ofCommit.all(sha, seq, limit) : ofCommits.all(sha, afterHashes(sha), seq, limit),
    async find(hash) {
      const end = last.get()?.seq ?? 0
      for (let seq = 0; seq < end; seq += searched) {
        const row = found.get(seq, seq + searched, hash)
        if (row) return row.seq
        await new Promise(setImmediate)
      }
      return null
    },
    checkpoints: async () => checkpoints.all().map((row) => ({ ...row, exported: row.exported === 1 })),
  }
}
