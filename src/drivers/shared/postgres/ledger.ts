/** A ledger in PostgreSQL apart from its entries: the tables, reads and writes of its Merkle tree, its head and its checkpoints. */
import { sql } from 'drizzle-orm'
import { boolean, check, integer, pgTable, primaryKey } from 'drizzle-orm/pg-core'
import type { LedgerHead, LedgerReader, StoredCheckpoint, TreeNode } from '../../../../sdk/storage/ledger.ts'
import { contiguous, type HeadRow, headOf } from '../ledger-rows.ts'
import type { Client, Query } from './client.ts'
import { big, text } from './columns.ts'
import { rowsOf } from './rows.ts'

/** Prefix of the tables' names, since a database can hold several ledgers. */
type Prefix = '' | 'act_'

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

const selectHead = (prefix: Prefix): string => `select seq::float8 as seq, hash, frontier from ${prefix}head`

/** @param name of the ledger, in errors */
export const ledgerReads = (
  { read }: Pick<Client, 'read'>,
  prefix: Prefix,
  name: string,
): Omit<LedgerReader, 'hashes'> => ({
  async head() {
    const [row] = await read<HeadRow>(selectHead(prefix))
    return headOf(row, name)
  },
  async nodes(level, index, limit) {
    const rows = await read<{ at: number; hash: string }>(
      `select "index"::float8 as at, hash from ${prefix}nodes where level = $1::int and "index" >= $2::bigint
       order by "index" limit $3::int`,
      [level, index, limit],
    )
    return contiguous(rows, index)
  },
  async checkpoints(latest) {
    const rows = await read<StoredCheckpoint>(
      `select size::float8 as size, head_hash, note, created_at, exported
       from (select * from ${prefix}checkpoints order by number desc limit $1::bigint) as latest order by number`,
      [latest ?? null],
    )
    return rows.map((row) => ({ ...row }))
  },
})

// Writes inside a transaction.

/** The head, locked until the transaction ends. */
export async function lockHead(query: Query, prefix: Prefix, name: string): Promise<LedgerHead> {
  const [row] = await query<HeadRow>(`${selectHead(prefix)} for update`)
  return headOf(row, name)
}

export async function growLedger(
  query: Query,
  prefix: Prefix,
  { seq, hash, frontier }: LedgerHead,
  added: readonly TreeNode[],
): Promise<void> {
  if (added.length > 0) {
    const [rows, values] = rowsOf(
      ['int', 'bigint', 'text'],
      added.map((node) => [node.level, node.index, node.hash]),
    )
    await query(`insert into ${prefix}nodes (level, "index", hash) select * from ${rows}`, values)
  }
  await query(`update ${prefix}head set seq = $1::bigint, hash = $2, frontier = $3`, [
    seq,
    hash,
    JSON.stringify(frontier),
  ])
}

export async function addCheckpoint(
  query: Query,
  prefix: Prefix,
  { size, head_hash, note, created_at, exported }: StoredCheckpoint,
): Promise<void> {
  await query(
    `insert into ${prefix}checkpoints (size, head_hash, note, created_at, exported) values ($1::bigint, $2, $3, $4, $5::boolean)`,
    [size, head_hash, note, created_at, exported],
  )
}
