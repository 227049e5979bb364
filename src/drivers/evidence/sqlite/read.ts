/** Reads of an evidence database. */
import type { Database } from 'bun:sqlite'
import { StorageError } from '../../../../sdk/storage/errors.ts'
import type { Evidence, EvidenceHead, EvidenceRecord, StoredCheckpoint } from '../../../../sdk/storage/evidence.ts'
import { storageErrorOf } from '../../sqlite/errors.ts'

export type Reads = Pick<Evidence, 'head' | 'read' | 'ofPullRequest' | 'hashes' | 'nodes' | 'find' | 'checkpoints'>

/** Records that are searched in one go; others have their turn in between. */
const searched = 20_000
export const columns = ['ts', 'source', 'event_type', 'evidence_class', 'payload', 'prev_hash', 'hash'] as const

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

export function reads(db: Database): Reads {
  const head = headReader(db)
  const from = db.prepare<EvidenceRecord, [number, number]>(
    `select seq, ${columns} from events where seq >= ? order by seq limit ?`,
  )
  // Numbers below 1 are nobody's: what stands there was put there past this program.
  const fromStart = db.prepare<EvidenceRecord, [number]>(`select seq, ${columns} from events order by seq limit ?`)
  const bytes = db.prepare<Record<string, Uint8Array>, [number]>(
    `select ${columns.map((name) => `cast(${name} as blob) as ${name}`)} from events where seq = ?`,
  )
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
  const checkpoints = db.prepare<StoredCheckpoint, []>(
    'select size, head_hash, note, created_at from checkpoints order by number',
  )

  /** SQLite's text may be any bytes; those that are not UTF-8 are read as U+FFFD, and would pass for a character that was meant. */
  function isAsStored(record: EvidenceRecord): boolean {
    if (!columns.some((name) => typeof record[name] === 'string' && record[name].includes('\ufffd'))) return true
    const row = bytes.get(record.seq)
    return row === null || columns.every((name) => Buffer.from(record[name]).equals(row[name]!))
  }
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
    read: translated((seq: number, limit: number) => {
      const records = seq <= 1 ? fromStart.all(limit) : from.all(seq, limit)
      const odd = records.find((record) => !isAsStored(record))
      if (odd) throw new StorageError('corrupt', `sqlite evidence: record ${odd.seq} is not UTF-8 text`)
      return records
    }),
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
    checkpoints: translated(() => checkpoints.all()),
  }
}
