/** The tables of evidence in PostgreSQL, from which `bun run migrations` generates SQL. Triggers, written by hand beside it, refuse what is not an append. */
import { sql } from 'drizzle-orm'
import { boolean, check, index, integer, pgTable, primaryKey } from 'drizzle-orm/pg-core'
import { big, text } from '../../shared/postgres/columns.ts'

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

/** Roots of whole subtrees of the Merkle tree. */
export const nodes = pgTable(
  'nodes',
  { level: integer().notNull(), index: big().notNull(), hash: text().notNull() },
  (table) => [primaryKey({ columns: [table.level, table.index] })],
)

/** One row: the last record, and what the Merkle tree needs to go on. */
export const head = pgTable(
  'head',
  { id: integer().primaryKey(), seq: big().notNull(), hash: text().notNull(), frontier: text().notNull() },
  () => [check('head_is_one', sql`id = 1`)],
)

export const checkpoints = pgTable('checkpoints', {
  number: big().primaryKey().generatedAlwaysAsIdentity(),
  size: big().notNull(),
  head_hash: text().notNull(),
  note: text().notNull(),
  created_at: text().notNull(),
  exported: boolean().notNull(),
})

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
