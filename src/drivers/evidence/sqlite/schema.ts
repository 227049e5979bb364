/** The tables of `provenance.db`, from which `bun run migrations` generates SQL. Hand-written triggers refuse all writes but appends. */
import { sql } from 'drizzle-orm'
import { blob, check, integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import { ledgerTables } from '../../shared/sqlite/ledger-tables.ts'

/** Format of the chain, which also identifies an evidence database. */
export const meta = sqliteTable('meta', { key: text().primaryKey(), value: text().notNull() })

export const events = sqliteTable('events', {
  seq: integer().primaryKey(),
  ts: text().notNull(),
  source: text().notNull(),
  event_type: text().notNull(),
  evidence_class: text().notNull(),
  payload: text().notNull(),
  prev_hash: text().notNull(),
  hash: text().notNull(),
})

export const { nodes, head, checkpoints } = ledgerTables('')

/** Payload fields by which webhook records are looked up, written with the records. */
export const webhook_keys = sqliteTable(
  'webhook_keys',
  {
    field: text().notNull(),
    /** Text or a number: a BLOB column converts neither. */
    value: blob().notNull(),
    seq: integer().notNull(),
  },
  (table) => [primaryKey({ columns: [table.field, table.value, table.seq] })],
)

/** Records by pull request, up to the record in `indexed`. Filled when it is read: filling it would make an append cost a third more. */
export const pull_requests = sqliteTable(
  'pull_requests',
  { pr_number: integer().notNull(), seq: integer().notNull() },
  (table) => [primaryKey({ columns: [table.pr_number, table.seq] })],
)

/** Records by commit, filled likewise. */
export const commits = sqliteTable('commits', { sha: text().notNull(), seq: integer().notNull() }, (table) => [
  primaryKey({ columns: [table.sha, table.seq] }),
])

export const indexed = sqliteTable('indexed', { id: integer().primaryKey(), seq: integer().notNull() }, () => [
  check('indexed_is_one', sql`id = 1`),
])

/** Tables WITHOUT ROWID, which Drizzle can't express. */
export const without_rowid = [meta, nodes, webhook_keys, pull_requests, commits]
