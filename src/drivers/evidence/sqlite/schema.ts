/** The tables of `provenance.db`, from which `bun run migrations` generates SQL. Triggers, written by hand beside it, refuse what is not an append. */
import { sql } from 'drizzle-orm'
import { blob, check, integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import { logTables } from '../../shared/sqlite/log-tables.ts'

/** Format of the chain; tells an evidence database from others. */
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

export const { nodes, head, checkpoints } = logTables('')

/** The keys of their payloads by which records of webhooks are found; written with them. */
export const webhook_keys = sqliteTable(
  'webhook_keys',
  {
    field: text().notNull(),
    /** Text or a number, kept as it is: this type converts neither. */
    value: blob().notNull(),
    seq: integer().notNull(),
  },
  (table) => [primaryKey({ columns: [table.field, table.value, table.seq] })],
)

/** The records of each pull request, up to the record `indexed`: filled when it is read, as an append would pay a third more. */
export const pull_requests = sqliteTable(
  'pull_requests',
  { pr_number: integer().notNull(), seq: integer().notNull() },
  (table) => [primaryKey({ columns: [table.pr_number, table.seq] })],
)

/** The records of each commit, filled likewise. */
export const commits = sqliteTable('commits', { sha: text().notNull(), seq: integer().notNull() }, (table) => [
  primaryKey({ columns: [table.sha, table.seq] }),
])

export const indexed = sqliteTable('indexed', { id: integer().primaryKey(), seq: integer().notNull() }, () => [
  check('indexed_is_one', sql`id = 1`),
])

/** Tables that are their primary key's index, which Drizzle can't say. */
export const without_rowid = [meta, nodes, webhook_keys, pull_requests, commits]
