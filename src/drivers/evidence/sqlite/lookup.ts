/** Finds records by values in their payloads: webhook records by key, records of a pull request by number, records of a commit by hash. */
import type { Database } from 'bun:sqlite'
import type { EvidenceRecord, WebhookKey } from '../../../../sdk/storage/evidence.ts'
import { isWebhook, keyFields, webhookKeysOf } from '../rows.ts'
import { openReader } from './connect.ts'
import { columns, commitIn, prNumber } from './read.ts'

/** The keys of webhook records, written in the transaction of the records. */
export function webhookKeys(db: Database) {
  const insert = db.prepare('insert into webhook_keys (field, value, seq) values (?, ?, ?)')
  const select = db.prepare<EvidenceRecord, [string, string]>(
    `select e.seq, ${columns.map((name) => `e.${name}`)} from webhook_keys k join events e on e.seq = k.seq
     where k.field = ? and k.value in (select value from json_each(?))`,
  )
  return {
    add(record: EvidenceRecord): void {
      if (!isWebhook(record)) return
      for (const { field, value } of webhookKeysOf(JSON.parse(record.payload))) insert.run(field, value, record.seq)
    },
    /** Ascending, without duplicates. */
    find(keys: readonly WebhookKey[]): EvidenceRecord[] {
      if (keys.length === 0) return []
      const found = keyFields.flatMap((field) => {
        const values = keys.filter((key) => key.field === field).map(({ value }) => value)
        return values.length === 0 ? [] : select.all(field, JSON.stringify(values))
      })
      return [...new Map(found.map((record) => [record.seq, record])).values()].sort((a, b) => a.seq - b.seq)
    },
  }
}

/** The fields of a payload that name a commit. */
const commitFields = ['sha', 'merge_commit_sha']
/** Records indexed in one transaction; appends can run between two transactions. */
const atOnce = 10_000

/** The index by pull request and by commit, extended step by step. */
export function payloadIndex(db: Database) {
  const position = db.prepare<{ indexed: number; last: number }, []>(
    'select (select seq from indexed) as indexed, (select coalesce(max(seq), 0) from events) as last',
  )
  const add = db.prepare(
    `insert or ignore into pull_requests (pr_number, seq)
     select pr_number, seq from (select ${prNumber('payload')} as pr_number, seq from events where seq > ? and seq <= ?)
     where pr_number is not null`,
  )
  const addCommits = commitFields.map((field) =>
    db.prepare(
      `insert or ignore into commits (sha, seq)
       select sha, seq from (select ${commitIn('payload', field)} as sha, seq from events where seq > ? and seq <= ?)
       where sha is not null`,
    ),
  )
  const move = db.prepare('update indexed set seq = ?')
  return {
    /** Whether there are records after the last indexed one. */
    isBehind(): boolean {
      const { indexed, last } = position.get()!
      return indexed < last
    },
    /** Indexes the next records. Call it inside a transaction. Returns whether more records remain. */
    advance(): boolean {
      const { indexed, last } = position.get()!
      const end = Math.min(indexed + atOnce, last)
      if (end <= indexed) return false
      for (const one of [add, ...addCommits]) one.run(indexed, end)
      move.run(end)
      return end < last
    },
  }
}

/** Bounds instead of LIKE, so that only the source of other records is compared. Records changed by other programs may not be JSON. */
const unindexedByKey = `select min(e.seq) as seq from events e join json_each(?) f on true
  where e.source >= 'webhook:' and e.source < 'webhook;' and json_valid(e.payload)
    and json_type(e.payload, '$.' || f.value) in ('text', 'integer', 'real')
    and not exists (select 1 from webhook_keys k
      where k.field = f.value and k.value = json_extract(e.payload, '$.' || f.value) and k.seq = e.seq)`

const unindexedByNumber = `select min(e.seq) as seq from events e where e.seq <= (select seq from indexed) and ${prNumber('e.payload')} is not null
  and not exists (select 1 from pull_requests p where p.pr_number = ${prNumber('e.payload')} and p.seq = e.seq)`

const unindexedByCommit = commitFields.map(
  (field) => `select min(e.seq) as seq from events e where e.seq <= (select seq from indexed)
  and ${commitIn('e.payload', field)} is not null
  and not exists (select 1 from commits c where c.sha = ${commitIn('e.payload', field)} and c.seq = e.seq)`,
)

/** Records that are marked as indexed before they are written will never be indexed. */
const ahead = `select seq from indexed where seq > (select coalesce(max(seq), 0) from events)`

/**
 * The first record that is missing from an index, or null. If the record that dismisses an approval were not found, the approval would count
 * again at the next merge. Reads the whole log.
 */
export function firstUnindexed(path: string): number | null {
  const db = openReader(path)
  try {
    const rows = [
      db.query<{ seq: number | null }, [string]>(unindexedByKey).get(JSON.stringify(keyFields)),
      db.query<{ seq: number | null }, []>(unindexedByNumber).get(),
      ...[...unindexedByCommit, ahead].map((query) => db.query<{ seq: number | null }, []>(query).get()),
    ]
    const found = rows.flatMap((row) => row?.seq ?? [])
    return found.length === 0 ? null : Math.min(...found)
  } finally {
    db.close()
  }
}
