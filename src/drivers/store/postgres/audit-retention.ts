/** Removes the oldest entries of the audit trail, and the detail of some. Triggers allow either only after the entry that records it. */
import { checkRedaction, markMethods, redactionEntry, retentionEntry } from '../../../../sdk/storage/audit.ts'
import { StorageError } from '../../../../sdk/storage/errors.ts'
import type { AuditEntry, AuditExpiry, AuditWriter } from '../../../../sdk/storage/store.ts'
import { toText } from '../../shared/postgres/filter.ts'
import { rowsOf } from '../../shared/postgres/rows.ts'
import { nameOf } from './draft.ts'
import type { Access } from './transaction.ts'

/** @param append adds an entry at the end */
export const auditExpiry =
  (access: Access, append: (entry: AuditEntry) => void, now: () => number) =>
  async ({ before_ms, keep, limit, at_ms = now() }: AuditExpiry): Promise<number> => {
    await access.engine()
    // One server at a time, so that the latest retention entry is its own.
    const old = await access.look([nameOf('retention', 'audit')], (query) =>
      query<{ seq: string }>(
        `select seq::text as seq from audit where at_ms < $1::float8 and method <> all($2::text[])
       order by at_ms, audit.seq limit $3::int`,
        [before_ms, [...keep, ...markMethods].map(toText), limit],
      ),
    )
    if (old.length === 0) return 0
    append(retentionEntry(old.length, before_ms, at_ms))
    const query = await access.engine()
    await query('delete from audit where seq = any($1::text[]::bigint[])', [old.map(({ seq }) => seq)])
    return old.length
  }

/** @param append adds an entry at the end */
export const auditRedaction =
  (access: Access, append: (entry: AuditEntry) => void, now: () => number) =>
  async (...[lines, redacted_by, at_ms = now()]: Parameters<AuditWriter['redact']>): Promise<void> => {
    checkRedaction(lines, redacted_by)
    if (lines.length === 0) return
    await access.engine()
    const seqs = lines.map(({ seq }) => seq)
    // One server at a time, so that the latest redaction entry is its own.
    const found = await access.look([nameOf('retention', 'audit')], (query) =>
      query<{ seq: number; entry: string }>(
        `select seq::float8 as seq, entry::text as entry from audit where seq = any($1::text[]::bigint[])`,
        [seqs.map(String)],
      ),
    )
    if (found.length !== seqs.length) throw new StorageError('not_found', 'an audit entry does not exist')
    append(redactionEntry(seqs, redacted_by, at_ms))
    const query = await access.engine()
    const details = new Map(lines.map(({ seq, detail }) => [seq, detail]))
    const entries = found.map(({ seq, entry }) => [
      String(seq),
      JSON.stringify({ ...JSON.parse(entry), detail: details.get(seq) }),
    ])
    const [rows, values] = rowsOf(['text', 'text'], entries)
    await query(
      `update audit a set entry = g.entry::json from ${rows} as g (seq, entry) where a.seq = g.seq::bigint`,
      values,
    )
  }
