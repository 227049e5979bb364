/** The tables in PostgreSQL that every log has beside its entries: its Merkle tree, where it ends, and its checkpoints. */
import { sql } from 'drizzle-orm'
import { boolean, check, integer, pgTable, primaryKey } from 'drizzle-orm/pg-core'
import { big, text } from './columns.ts'

/** @param prefix of the names of the tables, where a database has several logs */
export const logTables = (prefix: '' | 'act_') => ({
  /** Roots of whole subtrees of the Merkle tree. */
  nodes: pgTable(
    `${prefix}nodes`,
    { level: integer().notNull(), index: big().notNull(), hash: text().notNull() },
    (table) => [primaryKey({ columns: [table.level, table.index] })],
  ),
  /** One row: the last entry that has its place, and what the Merkle tree needs to go on. */
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
