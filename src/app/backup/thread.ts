/** The thread in a copy of the catalogue: what the manifest of a backup names, counted from the acts themselves. */
import { join } from 'node:path'
import { grow, rootOf } from '../../domain/evidence/tree.ts'
import { connectReader } from '../../drivers/shared/sqlite/connect.ts'

export interface ThreadCount {
  /** Entries with their places: the size of the tree. */
  size: number
  /** Root of the tree over them, lowercase hex: that of a checkpoint of this size. */
  root_hash: string
  /** All acts, those that wait for their places too. */
  acts: number
}

const page = 4_096

/** @param folder that has the catalogue */
export function threadIn(folder: string): ThreadCount {
  const db = connectReader(join(folder, 'cstp.db'))
  try {
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
  } finally {
    db.close()
  }
}
