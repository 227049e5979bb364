/** Size, root and act count of the thread in a copied catalogue, for the backup's manifest; computed from the acts themselves. */
import { join } from 'node:path'
import { grow, rootOf } from '../../domain/ledger/engine/tree.ts'
import { connectReader } from '../../drivers/shared/sqlite/connect.ts'

export interface ThreadCount {
  /** Number of sequenced entries: the size of the tree. */
  size: number
  /** Root hash of the tree, lowercase hex, as in a checkpoint of this size. */
  root_hash: string
  /** All acts, including those not yet sequenced. */
  acts: number
}

const page = 4_096

/** @param folder the folder with the catalogue */
export function threadIn(folder: string): ThreadCount {
  using db = connectReader(join(folder, 'cstp.db'))
  const { size } = db.query<{ size: number }, []>('select seq as size from act_head').get() ?? { size: 0 }
  const { acts } = db.query<{ acts: number }, []>('select count(*) as acts from acts').get()!
  const entries = db.query<{ commitment: string }, [number, number, number]>(
    'select commitment from acts where seq > ? and seq <= ? order by seq limit ?',
  )
  let frontier: readonly string[] = []
  for (let at = 0; at < size; at += page) {
    const commitments = entries.all(at, size, page).map(({ commitment }) => commitment)
    frontier = grow(frontier, at, commitments).frontier
  }
  return { size, root_hash: rootOf(frontier), acts }
}
