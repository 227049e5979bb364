/** The tables of a ledger in SQLite apart from its entries: its Merkle tree, its head and its checkpoints. */
import { sql } from 'drizzle-orm'
import { check, integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core'

/** Prefix of the tables' names, since a database can hold several ledgers. */
export type Prefix = '' | 'act_'

export const ledgerTables = (prefix: Prefix) => ({
  /** Roots of complete subtrees of the Merkle tree. */
  nodes: sqliteTable(
    `${prefix}nodes`,
    { level: integer().notNull(), index: integer().notNull(), hash: text().notNull() },
    (table) => [primaryKey({ columns: [table.level, table.index] })],
  ),
  /** One row: the last chained entry, and the frontier with which the Merkle tree is extended. */
  head: sqliteTable(
    `${prefix}head`,
    { id: integer().primaryKey(), seq: integer().notNull(), hash: text().notNull(), frontier: text().notNull() },
    () => [check(`${prefix}head_is_one`, sql`id = 1`)],
  ),
  checkpoints: sqliteTable(`${prefix}checkpoints`, {
    number: integer().primaryKey(),
    size: integer().notNull(),
    head_hash: text().notNull(),
    note: text().notNull(),
    created_at: text().notNull(),
    exported: integer().notNull(),
  }),
})
