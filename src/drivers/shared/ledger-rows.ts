/** Rows that both engines store in the same form: the head of a ledger, and the nodes of its Merkle tree. */
import { StorageError } from '../../../sdk/storage/errors.ts'
import type { LedgerHead } from '../../../sdk/storage/ledger.ts'

export interface HeadRow {
  seq: number
  hash: string
  frontier: string
}

/**
 * Reads a head from its row.
 * @param log names the log in errors
 * @throws StorageError `corrupt` if the row is not a head
 */
export function headOf(row: HeadRow | undefined | null, log: string): LedgerHead {
  try {
    const frontier: unknown = JSON.parse(row!.frontier)
    if (Array.isArray(frontier)) return { seq: row!.seq, hash: row!.hash, frontier }
  } catch (cause) {
    throw new StorageError('corrupt', `${log}: the head can’t be read`, { cause })
  }
  throw new StorageError('corrupt', `${log}: the frontier of the head is not a list`)
}

/** The hashes of consecutive rows starting at `index`, up to the first gap. */
export function contiguous(rows: readonly { at: number; hash: string }[], index: number): string[] {
  const end = rows.findIndex(({ at }, offset) => at !== index + offset)
  return (end === -1 ? rows : rows.slice(0, end)).map(({ hash }) => hash)
}
