/** Rows that every log stores in the same form: its head, the pages of its tree, and its checkpoints. */
import { StorageError } from '../../../sdk/storage/errors.ts'
import type { EvidenceHead, StoredCheckpoint } from '../../../sdk/storage/evidence.ts'

export interface HeadRow {
  seq: number
  hash: string
  frontier: string
}

/**
 * A head from its row.
 * @param log names it in errors
 * @throws StorageError `corrupt` when it can't be a head
 */
export function headOf(row: HeadRow | undefined | null, log: string): EvidenceHead {
  try {
    const frontier: unknown = JSON.parse(row!.frontier)
    if (Array.isArray(frontier)) return { seq: row!.seq, hash: row!.hash, frontier }
  } catch (cause) {
    throw new StorageError('corrupt', `${log}: the head can’t be read`, { cause })
  }
  throw new StorageError('corrupt', `${log}: the frontier of the head is not a list`)
}

/** The hashes of rows from `index` on, up to the first that is missing. */
export function contiguous(rows: readonly { at: number; hash: string }[], index: number): string[] {
  const end = rows.findIndex(({ at }, offset) => at !== index + offset)
  return (end === -1 ? rows : rows.slice(0, end)).map(({ hash }) => hash)
}

/** What a checkpoint is stored as, in the order of the columns. */
export const checkpointColumns = 'size, head_hash, note, created_at, exported'
export const checkpointValues = ({ size, head_hash, note, created_at, exported }: StoredCheckpoint) =>
  [size, head_hash, note, created_at, exported] as const
