/** The tables of evidence in PostgreSQL, from which `bun run migrations` generates SQL. Hand-written triggers refuse all writes but appends. */
import { pgTable, primaryKey } from 'drizzle-orm/pg-core'
import { big, text } from '../../shared/postgres/columns.ts'
import { ledgerTables } from '../../shared/postgres/ledger-tables.ts'

/** Format of the chain. */
export const evidence_meta = pgTable('evidence_meta', { key: text().primaryKey(), value: text().notNull() })

export const events = pgTable('events', {
  seq: big().primaryKey(),
  ts: text().notNull(),
  source: text().notNull(),
  event_type: text().notNull(),
  evidence_class: text().notNull(),
  payload: text().notNull(),
  prev_hash: text().notNull(),
  hash: text().notNull(),
})

export const { nodes, head, checkpoints } = ledgerTables('')

/** Payload fields by which webhook records are looked up, written with the records. The value is JSON, in which 1 differs from "1". */
export const webhook_keys = pgTable(
  'webhook_keys',
  { field: text().notNull(), value: text().notNull(), seq: big().notNull() },
  (table) => [primaryKey({ columns: [table.field, table.value, table.seq] })],
)

/** Records by pull request, written with the records. */
export const pull_requests = pgTable('pull_requests', { pr_number: big().notNull(), seq: big().notNull() }, (table) => [
  primaryKey({ columns: [table.pr_number, table.seq] }),
])

/** Records by commit, written with the records. */
export const commits = pgTable('commits', { sha: text().notNull(), seq: big().notNull() }, (table) => [
  primaryKey({ columns: [table.sha, table.seq] }),
])
