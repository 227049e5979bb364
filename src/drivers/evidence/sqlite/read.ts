/** Reads of an evidence database. */
import type { Database } from 'bun:sqlite'
import { StorageError } from '../../../../sdk/storage/errors.ts'
import type { EvidenceRecord, HashedText } from '../../../../sdk/storage/evidence.ts'
import { connectionOf, ledgerReads } from '../../shared/sqlite/ledger.ts'
import { afterHashes, type EvidenceReads, isCommit } from '../rows.ts'

export const columns = ['ts', 'source', 'event_type', 'evidence_class', 'payload', 'prev_hash', 'hash'] as const

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

/** Reads the records from `seq` on. */
function pageReader(db: Database): (seq: number, limit: number) => EvidenceRecord[] {
  const from = db.prepare<EvidenceRecord, [number, number]>(
    `select seq, ${columns} from events where seq >= ? order by seq limit ?`,
  )
  // Records below 1 were not written by this program; a read from the start includes them.
  const fromStart = db.prepare<EvidenceRecord, [number]>(`select seq, ${columns} from events order by seq limit ?`)
  const bytes = db.prepare<Record<string, Uint8Array>, [number]>(
    `select ${columns.map((name) => `cast(${name} as blob) as ${name}`)} from events where seq = ?`,
  )

  /** SQLite's text may contain any bytes. Bytes that are not UTF-8 are read as U+FFFD, like a stored U+FFFD. */
  function isAsStored(record: EvidenceRecord): boolean {
    for (const name of columns) {
      const value = record[name]
      if (typeof value !== 'string' || !value.includes('\ufffd')) continue
      const row = bytes.get(record.seq)
      return row === null || columns.every((one) => Buffer.from(String(record[one])).equals(row[one]!))
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

/** Reads records with the text that was hashed. Had SQLite joined it otherwise than the formula says, it would match no hash. */
function hashedReader(db: Database): NonNullable<EvidenceReads['hashed']> {
  const text = `concat('{"event_type":', json_quote(event_type), ',"evidence_class":"', evidence_class, '","payload":', payload,
    ',"prev_hash":"', prev_hash, '","seq":', seq, ',"source":', json_quote(source), ',"ts":', json_quote(ts), '}')`
  return async (seq, limit) => {
    try {
      // Records below 1 were not written by this program.
      if (seq === 1 && db.query('select seq from events where seq < 1 limit 1').get() !== null) return null
      const rows = db
        .query<HashedText, [number, number]>(
          `select hash, prev_hash, ${text} as text from events where seq >= ? and seq < ?
           and typeof(payload) = 'text' and evidence_class in ('observed', 'inferred', 'attested') order by seq`,
        )
        .all(seq, seq + limit)
      // As many as the range has numbers are one of each. Bytes that are not UTF-8 are read as U+FFFD, like a stored U+FFFD.
      return rows.length === limit && rows.every((row) => !row.text.includes('\ufffd')) ? rows : null
    } catch {
      // Bytes in place of a text, a damaged page, or an SQLite without concat(): reading the records tells which.
      return null
    }
  }
}

export function reads(db: Database): EvidenceReads {
  const records = pageReader(db)
  const hashes = db.prepare<{ hash: string }, [number, number]>(
    'select hash from events where seq >= ? order by seq limit ?',
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
  return {
    ...ledgerReads(connectionOf(db), '', 'sqlite evidence'),
    read: async (seq, limit) => records(seq, limit),
    hashed: hashedReader(db),
    hashes: async (seq, limit) => hashes.all(Math.max(1, seq), limit).map(({ hash }) => hash),
    ofPullRequest: async (pr_number, seq, limit) => ofPullRequest.all(pr_number, seq, limit),
    ofCommit: async (sha, seq, limit) =>
      isCommit(sha) ? ofCommit.all(sha, seq, limit) : ofCommits.all(sha, afterHashes(sha), seq, limit),
  }
}
