/** The tables of a ledger in PostgreSQL apart from its entries: its Merkle tree, its head and its checkpoints. */
import { sql } from 'drizzle-orm'
import { boolean, check, integer, pgTable, primaryKey } from 'drizzle-orm/pg-core'
import { big, text } from './columns.ts'

/** Prefix of the tables' names, since a database can hold several ledgers. */
export type Prefix = '' | 'act_'

export const ledgerTables = (prefix: Prefix) => ({
  /** Roots of complete subtrees of the Merkle tree. */
  nodes: pgTable(
    `${prefix}nodes`,
    { level: integer().notNull(), index: big().notNull(), hash: text().notNull() },
    (table) => [primaryKey({ columns: [table.level, table.index] })],
  ),
  /** One row: the last chained entry, and the frontier with which the Merkle tree is extended. */
  head: pgTable(
    `${prefix}head`,
    { id: integer().primaryKey(), seq: big().notNull(), hash: text().notNull(), frontier: text().notNull() },
    () => [check(`${prefix}head_is_one`, sql`id = 1`)],
  ),
  checkpoints: pgTable(`${prefix}checkpoints`, {
    number: big().primaryKey().generatedAlwaysAsIdentity(),
    size: big().notNull(),
    head_hash: text().notNull(),
    note: text().notNull(),
    created_at: text().notNull(),
    exported: boolean().notNull(),
  }),
})
