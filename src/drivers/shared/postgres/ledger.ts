/** A ledger in PostgreSQL apart from its entries: reads and writes of its Merkle tree, its head and its checkpoints. */
import type { LedgerHead, LedgerReader, StoredCheckpoint, TreeNode } from '../../../../sdk/storage/ledger.ts'
import { contiguous, type HeadRow, headOf } from '../ledger-rows.ts'
import type { Client, Query } from './client.ts'
import type { Prefix } from './ledger-tables.ts'

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
    await query(
      `insert into ${prefix}nodes (level, "index", hash) select * from unnest($1::int[], $2::bigint[], $3::text[])`,
      [added.map((node) => node.level), added.map((node) => node.index), added.map((node) => node.hash)],
    )
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
