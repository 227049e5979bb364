/** Removal of the oldest lines of the audit trail. A trigger lets lines go only after the line that says so. */
import { retentionEntry, retentionMethod } from '../../../../sdk/storage/audit-retention.ts'
import type { AuditEntry, AuditExpiry } from '../../../../sdk/storage/store.ts'
import { toText } from '../../shared/postgres/filter.ts'
import { nameOf } from './draft.ts'
import type { Access } from './transaction.ts'

/** @param append adds a line at the end */
export const auditExpiry =
  (access: Access, append: (entry: AuditEntry) => void, now: () => number) =>
  async ({ before_ms, keep, limit }: AuditExpiry): Promise<number> => {
    await access.engine()
    // One server at a time, so that the latest line of a retention is its own.
    const old = await access.look([nameOf('retention', 'audit')], (query) =>
      query<{ seq: string }>(
        `select seq::text as seq from audit where at_ms < $1::float8 and method <> all($2::text[])
       order by at_ms, audit.seq limit $3::int`,
        [before_ms, [...keep, retentionMethod].map(toText), limit],
      ),
    )
    if (old.length === 0) return 0
    append(retentionEntry(old.length, before_ms, now()))
    const query = await access.engine()
    await query('delete from audit where seq = any($1::text[]::bigint[])', [old.map(({ seq }) => seq)])
    return old.length
  }
