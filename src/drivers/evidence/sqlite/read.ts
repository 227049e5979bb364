/** Reads of an evidence database. */
import type { Database } from 'bun:sqlite'
import { StorageError } from '../../../../sdk/storage/errors.ts'
import type {
  Evidence,
  EvidenceFact,
  EvidenceHead,
  EvidenceRecord,
  StoredCheckpoint,
  WebhookKey,
} from '../../../../sdk/storage/evidence.ts'
import { storageErrorOf } from '../../shared/sqlite/connect.ts'
import { openReader } from './connect.ts'

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

// Finding records by what their payloads hold: those of webhooks by their keys, those of pull requests by number.

/** Of a webhook's record, what it is found by. */
export const fields: readonly WebhookKey['field'][] = [
  'pr_number',
  'sha',
  'merge_commit_sha',
  'delivery_id',
  'body_sha256',
]

/** The keys of webhooks' records, written in the transaction of the records. */
export function webhookKeys(db: Database) {
  const insert = db.prepare('insert into webhook_keys (field, value, seq) values (?, ?, ?)')
  const select = db.prepare<EvidenceRecord, [string, string]>(
    `select e.seq, ${columns.map((name) => `e.${name}`)} from webhook_keys k join events e on e.seq = k.seq
     where k.field = ? and k.value in (select value from json_each(?))`,
  )
  return {
    add({ seq, source, payload }: EvidenceRecord): void {
      if (!source.startsWith('webhook:')) return
      const values = JSON.parse(payload) as Record<string, unknown>
      for (const field of fields) {
        const value = values[field]
        if (typeof value === 'string' || typeof value === 'number') insert.run(field, value, seq)
      }
    },
    /** Ascending, each once. */
    find(keys: readonly WebhookKey[]): EvidenceRecord[] {
      if (keys.length === 0) return []
      const found = fields.flatMap((field) => {
        const values = keys.filter((key) => key.field === field).map(({ value }) => value)
        return values.length === 0 ? [] : select.all(field, JSON.stringify(values))
      })
      return [...new Map(found.map((record) => [record.seq, record])).values()].sort((a, b) => a.seq - b.seq)
    },
  }
}

/** Records that are indexed in one transaction; appends have their turn in between. */
const atOnce = 10_000

/** The index by pull request, a step at a time. */
export function pullRequestIndex(db: Database) {
  const position = db.prepare<{ indexed: number; last: number }, []>(
    'select (select seq from indexed) as indexed, (select coalesce(max(seq), 0) from events) as last',
  )
  const add = db.prepare(
    `insert or ignore into pull_requests (pr_number, seq)
     select pr_number, seq from (select ${prNumber('payload')} as pr_number, seq from events where seq > ? and seq <= ?)
     where pr_number is not null`,
  )
  const move = db.prepare('update indexed set seq = ?')
  return {
    /** Whether the log goes on behind what is indexed. @throws StorageError */
    behind(): boolean {
      try {
        const { indexed, last } = position.get()!
        return indexed < last
      } catch (error) {
        throw storageErrorOf(error, 'cannot read the evidence')
      }
    },
    /** Inside of a transaction. Returns whether there is more. */
    advance(): boolean {
      const { indexed, last } = position.get()!
      const end = Math.min(indexed + atOnce, last)
      if (end <= indexed) return false
      add.run(indexed, end)
      move.run(end)
      return end < last
    },
  }
}

// Looks for records that the tables beside the log no longer find: an approval that was dismissed would count again at the next merge.

/** Bounds instead of LIKE, so that only the source is compared; the payload of what was changed past the program may be no JSON. */
const unfoundByKey = `select min(e.seq) as seq from events e join json_each(?) f on true
  where e.source >= 'webhook:' and e.source < 'webhook;' and json_valid(e.payload)
    and json_type(e.payload, '$.' || f.value) in ('text', 'integer', 'real')
    and not exists (select 1 from webhook_keys k
      where k.field = f.value and k.value = json_extract(e.payload, '$.' || f.value) and k.seq = e.seq)`

const unfoundByNumber = `select min(e.seq) as seq from events e where e.seq <= (select seq from indexed) and ${prNumber('e.payload')} is not null
  and not exists (select 1 from pull_requests p where p.pr_number = ${prNumber('e.payload')} and p.seq = e.seq)`

/** Records that are said to be indexed before they are there never will be. */
const ahead = `select seq from indexed where seq > (select coalesce(max(seq), 0) from events)`

/** The first record that is not found by what its payload holds; null where each is. Reads the whole log. */
export function firstUnfound(path: string): number | null {
  const db = openReader(path)
  try {
    const rows = [
      db.query<{ seq: number | null }, [string]>(unfoundByKey).get(JSON.stringify(fields)),
      db.query<{ seq: number | null }, []>(unfoundByNumber).get(),
      db.query<{ seq: number | null }, []>(ahead).get(),
    ]
    const found = rows.flatMap((row) => row?.seq ?? [])
    return found.length === 0 ? null : Math.min(...found)
  } finally {
    db.close()
  }
}
