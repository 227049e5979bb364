/** The tables of evidence in PostgreSQL, from which `bun run migrations` generates SQL. Triggers, written by hand beside it, refuse what is not an append. */
import { index, pgTable, primaryKey } from 'drizzle-orm/pg-core'
import { big, text } from '../../shared/postgres/columns.ts'
import { logTables } from '../../shared/postgres/log-tables.ts'

/** Format of the chain. */
export const evidence_meta = pgTable('evidence_meta', { key: text().primaryKey(), value: text().notNull() })

export const events = pgTable(
  'events',
  {
    seq: big().primaryKey(),
    ts: text().notNull(),
    source: text().notNull(),
    event_type: text().notNull(),
    evidence_class: text().notNull(),
    payload: text().notNull(),
    prev_hash: text().notNull(),
    hash: text().notNull(),
  },
  (table) => [index('events_hash').using('hash', table.hash)],
)

export const { nodes, head, checkpoints } = logTables('')

/** The keys of their payloads by which records of webhooks are found; written with them. The value is JSON, so that 1 is not "1". */
export const webhook_keys = pgTable(
  'webhook_keys',
  { field: text().notNull(), value: text().notNull(), seq: big().notNull() },
  (table) => [primaryKey({ columns: [table.field, table.value, table.seq] })],
)

/** The records of each pull request; written with them. */
export const pull_requests = pgTable('pull_requests', { pr_number: big().notNull(), seq: big().notNull() }, (table) => [
  primaryKey({ columns: [table.pr_number, table.seq] }),
])

/** The records of each commit; written with them. */
export const commits = pgTable('commits', { sha: text().notNull(), seq: big().notNull() }, (table) => [
  primaryKey({ columns: [table.sha, table.seq] }),
])
