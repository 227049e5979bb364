/** Finding records by what their payloads hold: those of webhooks by their keys, those of pull requests by number. */
import type { Database } from 'bun:sqlite'
import type { EvidenceRecord, WebhookKey } from '../../../../sdk/storage/evidence.ts'
import { storageErrorOf } from '../../sqlite/errors.ts'
import { columns, prNumber } from './read.ts'

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
