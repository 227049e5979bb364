/** A ledger in SQLite apart from its entries: reads and writes of its Merkle tree, its head and its checkpoints. */
import type { Database, Statement } from 'bun:sqlite'
import type { LedgerHead, LedgerReader, StoredCheckpoint, TreeNode } from '../../../../sdk/storage/ledger.ts'
import { contiguous, type HeadRow, headOf } from '../ledger-rows.ts'
import type { Prefix } from './ledger-tables.ts'

interface Connection {
  prepare<Row, Values extends (string | number)[]>(sql: string): Statement<Row, Values>
}

export const connectionOf = (db: Database): Connection => ({
  prepare: <Row, Values extends (string | number)[]>(sql: string) =>
    db.prepare(sql) as unknown as Statement<Row, Values>,
})

const columns = 'size, head_hash, note, created_at, exported'

/** @param name of the ledger, in errors @throws StorageError `corrupt` for a row that is not a head */
export function headReader({ prepare }: Connection, prefix: Prefix, name: string): () => LedgerHead {
  const select = prepare<HeadRow, []>(`select seq, hash, frontier from ${prefix}head`)
  return () => headOf(select.get(), name)
}

export function ledgerReads(connection: Connection, prefix: Prefix, name: string): Omit<LedgerReader, 'hashes'> {
  const head = headReader(connection, prefix, name)
  const nodes = connection.prepare<{ at: number; hash: string }, [number, number, number]>(
    `select "index" as at, hash from ${prefix}nodes where level = ? and "index" >= ? order by "index" limit ?`,
  )
  const checkpoints = connection.prepare<Omit<StoredCheckpoint, 'exported'> & { exported: number }, [number]>(
    `select ${columns} from (select number, ${columns} from ${prefix}checkpoints order by number desc limit ?) order by number`,
  )
  return {
    head: async () => head(),
    nodes: async (level, index, limit) => contiguous(nodes.all(level, index, limit), index),
    checkpoints: async (latest = -1) =>
      checkpoints.all(latest).map((row) => ({ ...row, exported: row.exported === 1 })),
  }
}

/** Writes inside a transaction. */
export function ledgerWrites(connection: Connection, prefix: Prefix, name: string) {
  const insertNode = connection.prepare<unknown, [number, number, string]>(
    `insert into ${prefix}nodes (level, "index", hash) values (?, ?, ?)`,
  )
  const setHead = connection.prepare<unknown, [number, string, string]>(
    `update ${prefix}head set seq = ?, hash = ?, frontier = ?`,
  )
  const insertCheckpoint = connection.prepare<unknown, [number, string, string, string, number]>(
    `insert into ${prefix}checkpoints (${columns}) values (?, ?, ?, ?, ?)`,
  )
  return {
    head: headReader(connection, prefix, name),
    grow({ seq, hash, frontier }: LedgerHead, nodes: readonly TreeNode[]): void {
      for (const node of nodes) insertNode.run(node.level, node.index, node.hash)
      setHead.run(seq, hash, JSON.stringify(frontier))
    },
    addCheckpoint({ size, head_hash, note, created_at, exported }: StoredCheckpoint): void {
      insertCheckpoint.run(size, head_hash, note, created_at, Number(exported))
    },
  }
}
