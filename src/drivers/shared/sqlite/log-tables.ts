/** The tables in SQLite that every log has beside its entries: its Merkle tree, where it ends, and its checkpoints. */
import { sql } from 'drizzle-orm'
import { check, integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core'

/** @param prefix of the tables' names, if a database has several logs */
export const logTables = (prefix: '' | 'act_') => ({
  /** Roots of whole subtrees of the Merkle tree. */
  nodes: sqliteTable(
    `${prefix}nodes`,
    { level: integer().notNull(), index: integer().notNull(), hash: text().notNull() },
    (table) => [primaryKey({ columns: [table.level, table.index] })],
  ),
  /** One row: the last entry that has its place, and what the Merkle tree needs to go on. */
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
