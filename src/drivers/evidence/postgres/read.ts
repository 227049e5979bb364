/** Reads of the log. */
import { StorageError } from '../../../../sdk/storage/errors.ts'
import type {
  Evidence,
  EvidenceFact,
  EvidenceHead,
  EvidenceRecord,
  StoredCheckpoint,
} from '../../../../sdk/storage/evidence.ts'
import type { Client } from '../../shared/postgres/client.ts'
import { fromText } from '../../shared/postgres/filter.ts'

export type RecordRow = EvidenceRecord

export const recordColumns =
  'e.seq::float8 as seq, e.ts, e.source, e.event_type, e.evidence_class, e.payload, e.prev_hash, e.hash'

export const recordOf = (row: RecordRow): EvidenceRecord => ({
  seq: row.seq,
  ts: fromText(row.ts),
  source: fromText(row.source),
  event_type: fromText(row.event_type),
  evidence_class: row.evidence_class,
  payload: fromText(row.payload),
  prev_hash: row.prev_hash,
  hash: row.hash,
})

export interface HeadRow {
  seq: number
  hash: string
  frontier: string
}

/** @throws StorageError `corrupt` when it can't be a head */
export function headOf(row: HeadRow | undefined): EvidenceHead {
  try {
    const frontier: unknown = JSON.parse(row!.frontier)
    if (Array.isArray(frontier)) return { seq: row!.seq, hash: row!.hash, frontier }
  } catch (cause) {
    throw new StorageError('corrupt', 'postgres evidence: the head can’t be read', { cause })
  }
  throw new StorageError('corrupt', 'postgres evidence: the frontier of the head is no list')
}

export const reads = ({
  read,
}: Pick<Client, 'read'>): Omit<Evidence, 'driver' | 'append' | 'saveCheckpoint' | 'close'> => ({
  async head() {
    const [row] = await read<HeadRow>('select seq::float8 as seq, hash, frontier from head')
    return headOf(row)
  },
  async read(seq, limit) {
    // Numbers below 1 are nobody's: what stands there was put there past this program.
    const from = seq <= 1 ? 'true' : 'e.seq >= $2::bigint'
    const rows = await read<RecordRow>(
      `select ${recordColumns} from events e where ${from} order by e.seq limit $1::int`,
      seq <= 1 ? [limit] : [limit, seq],
    )
    return rows.map(recordOf)
  },
  async facts(seq, limit) {
    const from = seq <= 1 ? 'true' : 'seq >= $2::bigint'
    const rows = await read<EvidenceFact>(
      `select seq::float8 as seq, source, event_type, evidence_class, payload from events where ${from}
       order by events.seq limit $1::int`,
      seq <= 1 ? [limit] : [limit, seq],
    )
    return rows.map(({ seq, source, event_type, evidence_class, payload }) => ({
      seq,
      source: fromText(source),
      event_type: fromText(event_type),
      evidence_class,
      payload: fromText(payload),
    }))
  },
  async hashes(seq, limit) {
    const rows = await read<{ hash: string }>(
      'select hash from events where seq >= $1::bigint order by seq limit $2::int',
      [Math.max(1, seq), limit],
    )
    return rows.map(({ hash }) => hash)
  },
  async nodes(level, index, limit) {
    const rows = await read<{ at: number; hash: string }>(
      `select "index"::float8 as at, hash from nodes where level = $1::int and "index" >= $2::bigint
       order by "index" limit $3::int`,
      [level, index, limit],
    )
    const end = rows.findIndex(({ at }, offset) => at !== index + offset)
    return (end === -1 ? rows : rows.slice(0, end)).map(({ hash }) => hash)
  },
  async ofPullRequest(pr_number, seq, limit) {
    const rows = await read<RecordRow>(
      `select ${recordColumns} from pull_requests p join events e on e.seq = p.seq
       where p.pr_number = $1::bigint and p.seq >= $2::bigint order by p.seq limit $3::int`,
      [pr_number, seq, limit],
    )
    return rows.map(recordOf)
  },
  async find(hash) {
    const [row] = await read<{ seq: number }>('select min(seq)::float8 as seq from events where hash = $1', [hash])
    return row?.seq ?? null
  },
  checkpoints: () =>
    read<StoredCheckpoint>(
      'select size::float8 as size, head_hash, note, created_at, exported from checkpoints order by number',
    ).then((rows) => rows.map((row) => ({ ...row }))),
})
