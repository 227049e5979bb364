/** Reads of the log. */
import type { EvidenceFact, EvidenceRecord, StoredCheckpoint } from '../../../../sdk/storage/evidence.ts'
import { checkpointColumns, contiguous, type HeadRow, headOf } from '../../shared/log-rows.ts'
import type { Client } from '../../shared/postgres/client.ts'
import { fromText, toText } from '../../shared/postgres/text.ts'
import { afterHashes, type EvidenceReads, isCommit } from '../rows.ts'

const factColumns = 'e.seq::float8 as seq, e.source, e.event_type, e.evidence_class, e.payload'
export const recordColumns = `${factColumns}, e.ts, e.prev_hash, e.hash`
export const selectHead = 'select seq::float8 as seq, hash, frontier from head'

const factOf = ({ seq, source, event_type, evidence_class, payload }: EvidenceFact): EvidenceFact => ({
  seq,
  source: fromText(source),
  event_type: fromText(event_type),
  evidence_class,
  payload: fromText(payload),
})

export function recordOf(row: EvidenceRecord): EvidenceRecord {
  const { seq, ...fact } = factOf(row)
  return { seq, ts: fromText(row.ts), ...fact, prev_hash: row.prev_hash, hash: row.hash }
}

export function reads({ read }: Pick<Client, 'read'>): EvidenceReads {
  /** Rows of events from record `seq` on. Records below 1 were not written by this program; a read from the start includes them. */
  const page = <Row>(columns: string, seq: number, limit: number): Promise<Row[]> =>
    read(
      `select ${columns} from events e where ${seq <= 1 ? 'true' : 'e.seq >= $2::bigint'} order by e.seq limit $1::int`,
      seq <= 1 ? [limit] : [limit, seq],
    )
  return {
    async head() {
      const [row] = await read<HeadRow>(selectHead)
      return headOf(row, 'postgres evidence')
    },
    async read(seq, limit) {
      return (await page<EvidenceRecord>(recordColumns, seq, limit)).map(recordOf)
    },
    async facts(seq, limit) {
      return (await page<EvidenceFact>(factColumns, seq, limit)).map(factOf)
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
      return contiguous(rows, index)
    },
    async ofPullRequest(pr_number, seq, limit) {
      const rows = await read<EvidenceRecord>(
        `select ${recordColumns} from pull_requests p join events e on e.seq = p.seq
         where p.pr_number = $1::bigint and p.seq >= $2::bigint order by p.seq limit $3::int`,
        [pr_number, seq, limit],
      )
      return rows.map(recordOf)
    },
    async ofCommit(sha, seq, limit) {
      if (!isCommit(sha)) {
        const begun = await read<EvidenceRecord>(
          `select ${recordColumns} from events e
           where e.seq in (select seq from commits where sha >= $1 and sha < $2 and seq >= $3::bigint)
           order by e.seq limit $4::int`,
          [toText(sha), toText(afterHashes(sha)), seq, limit],
        )
        return begun.map(recordOf)
      }
      const rows = await read<EvidenceRecord>(
        `select ${recordColumns} from commits c join events e on e.seq = c.seq
         where c.sha = $1 and c.seq >= $2::bigint order by c.seq limit $3::int`,
        [toText(sha), seq, limit],
      )
      return rows.map(recordOf)
    },
    async find(hash) {
      const [row] = await read<{ seq: number }>('select min(seq)::float8 as seq from events where hash = $1', [hash])
      return row?.seq ?? null
    },
    async checkpoints() {
      const rows = await read<StoredCheckpoint>(
        `select ${checkpointColumns.replace('size', 'size::float8 as size')} from checkpoints order by number`,
      )
      return rows.map((row) => ({ ...row }))
    },
  }
}
