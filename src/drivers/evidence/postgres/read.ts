/** Reads of the log. */
import type { EvidenceRecord } from '../../../../sdk/storage/evidence.ts'
import type { Client } from '../../shared/postgres/client.ts'
import { ledgerReads } from '../../shared/postgres/ledger.ts'
import { fromText, toText } from '../../shared/postgres/text.ts'
import { afterHashes, type EvidenceReads, isCommit } from '../rows.ts'

export const recordColumns =
  'e.seq::float8 as seq, e.ts, e.source, e.event_type, e.evidence_class, e.payload, e.prev_hash, e.hash'

export const recordOf = ({ seq, ts, source, event_type, payload, ...rest }: EvidenceRecord): EvidenceRecord => ({
  ...{ seq, ts: fromText(ts), source: fromText(source), event_type: fromText(event_type), payload: fromText(payload) },
  ...rest,
})

export function reads({ read }: Pick<Client, 'read'>): EvidenceReads {
  return {
    ...ledgerReads({ read }, '', 'postgres evidence'),
    async read(seq, limit) {
      // Records below 1 were not written by this program; a read from the start includes them.
      const rows = await read<EvidenceRecord>(
        `select ${recordColumns} from events e where ${seq <= 1 ? 'true' : 'e.seq >= $2::bigint'} order by e.seq limit $1::int`,
        seq <= 1 ? [limit] : [limit, seq],
      )
      return rows.map(recordOf)
    },
    async hashes(seq, limit) {
      const rows = await read<{ hash: string }>(
        'select hash from events where seq >= $1::bigint order by seq limit $2::int',
        [Math.max(1, seq), limit],
      )
      return rows.map(({ hash }) => hash)
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
  }
}
