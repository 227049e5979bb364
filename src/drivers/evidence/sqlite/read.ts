/** Reads of an evidence database. */
import type { Database } from 'bun:sqlite'
import { StorageError } from '../../../../sdk/storage/errors.ts'
import type {
  Evidence,
  EvidenceFact,
  EvidenceHead,
  EvidenceRecord,
  StoredCheckpoint,
} from '../../../../sdk/storage/evidence.ts'
import { storageErrorOf } from '../../sqlite/errors.ts'

export type Reads = Omit<Evidence, 'driver' | 'append' | 'saveCheckpoint' | 'close'>

/** Records that are searched in one go; others have their turn in between. */
const searched = 20_000
export const columns = ['ts', 'source', 'event_type', 'evidence_class', 'payload', 'prev_hash', 'hash'] as const
const factColumns = ['source', 'event_type', 'evidence_class', 'payload'] as const

/** SQL of the integer that a payload has as `pr_number`; null where it has none, or is no JSON. */
export const prNumber = (payload: string): string =>
  `case when json_valid(${payload}) then case when json_type(${payload}, '$.pr_number') = 'integer'
   then json_extract(${payload}, '$.pr_number') end end`

interface HeadRow {
  seq: number
  hash: string
  frontier: string
}

/** Reads the stored head. @throws StorageError `corrupt` when it can't be one */
export function headReader(db: Database): () => EvidenceHead {
  const select = db.prepare<HeadRow, []>('select seq, hash, frontier from head')
  return () => {
    const row = select.get()
    try {
      const frontier: unknown = JSON.parse(row!.frontier)
      if (Array.isArray(frontier)) return { seq: row!.seq, hash: row!.hash, frontier }
    } catch (cause) {
      throw new StorageError('corrupt', 'sqlite evidence: the head can’t be read', { cause })
    }
    throw new StorageError('corrupt', 'sqlite evidence: the frontier of the head is no list')
  }
}

/** Reads these columns of records, from one on. */
function pageReader<Row extends EvidenceFact>(
  db: Database,
  names: readonly (keyof Row & string)[],
): (seq: number, limit: number) => Row[] {
  const from = db.prepare<Row, [number, number]>(`select seq, ${names} from events where seq >= ? order by seq limit ?`)
  // Numbers below 1 are nobody's: what stands there was put there past this program.
  const fromStart = db.prepare<Row, [number]>(`select seq, ${names} from events order by seq limit ?`)
  const bytes = db.prepare<Record<string, Uint8Array>, [number]>(
    `select ${names.map((name) => `cast(${name} as blob) as ${name}`)} from events where seq = ?`,
  )

  /** SQLite's text may be any bytes; those that are not UTF-8 are read as U+FFFD, and would pass for a character that was meant. */
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

export function reads(db: Database): Reads {
  const head = headReader(db)
  const records = pageReader<EvidenceRecord>(db, columns)
  const facts = pageReader<EvidenceFact>(db, factColumns)
  const hashes = db.prepare<{ hash: string }, [number, number]>(
    'select hash from events where seq >= ? order by seq limit ?',
  )
  const nodes = db.prepare<{ at: number; hash: string }, [number, number, number]>(
    'select "index" as at, hash from nodes where level = ? and "index" >= ? order by "index" limit ?',
  )
  // What was written past this program may not be in step with the index.
  const ofPullRequest = db.prepare<EvidenceRecord, [number, number, number]>(
    `select e.seq, ${columns.map((name) => `e.${name}`)} from pull_requests p join events e on e.seq = p.seq
     where p.pr_number = ? and p.seq >= ? and ${prNumber('e.payload')} = p.pr_number order by p.seq limit ?`,
  )
  const last = db.prepare<{ seq: number | null }, []>('select max(seq) as seq from events')
  const found = db.prepare<{ seq: number }, [number, number, string]>(
    'select seq from events where seq > ? and seq <= ? and hash = ? limit 1',
  )
  const checkpoints = db.prepare<Omit<StoredCheckpoint, 'exported'> & { exported: number }, []>(
    'select size, head_hash, note, created_at, exported from checkpoints order by number',
  )

  const translated =
    <A extends unknown[], R>(read: (...args: A) => R) =>
    async (...args: A): Promise<Awaited<R>> => {
      try {
        return await read(...args)
      } catch (error) {
        throw storageErrorOf(error, 'cannot read the evidence')
      }
    }

  return {
    head: translated(head),
    read: translated(records),
    facts: translated(facts),
    hashes: translated((seq: number, limit: number) => hashes.all(Math.max(1, seq), limit).map(({ hash }) => hash)),
    nodes: translated((level: number, index: number, limit: number) => {
      const rows = nodes.all(level, index, limit)
      const end = rows.findIndex(({ at }, offset) => at !== index + offset)
      return (end === -1 ? rows : rows.slice(0, end)).map(({ hash }) => hash)
    }),
    ofPullRequest: translated((pr_number: number, seq: number, limit: number) =>
      ofPullRequest.all(pr_number, seq, limit),
    ),
    find: translated(async (hash: string) => {
      const end = last.get()?.seq ?? 0
      for (let seq = 0; seq < end; seq += searched) {
        const row = found.get(seq, seq + searched, hash)
        if (row) return row.seq
        await new Promise(setImmediate)
      }
      return null
    }),
    checkpoints: translated(() => checkpoints.all().map((row) => ({ ...row, exported: row.exported === 1 }))),
  }
}
