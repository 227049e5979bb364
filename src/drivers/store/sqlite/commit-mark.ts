/** Tells whether anybody has committed, in any process, by the header that each commit changes, and without asking SQLite. */
import type { Database } from 'bun:sqlite'
import { type MapFile, mapped, walIndex } from '../../shared/sqlite/wal-index.ts'

export interface CommitMark {
  /** False if there was no commit since the read that {@link settle} was called for; true also where that can't be known. */
  moved(): boolean
  /** What was committed before the last {@link moved} has been read. */
  settle(): void
  /** Called before the database is closed; from then on nothing can be known. */
  close(): void
}

/** Where it can't be known. */
export const everMoved: CommitMark = { moved: () => true, settle: () => {}, close: () => {} }

/** @param db has been read from, and stays open */
export function commitMark(db: Database, map: MapFile = mapped): CommitMark {
  const index = walIndex(db, map)
  if (index === null) return everMoved
  const { header: now } = index
  const settled = new Int32Array(now.length)
  return {
    moved() {
      if (!index.look()) return true
      let difference = 0
      for (let at = 0; at < now.length; at++) difference |= now[at]! ^ settled[at]!
      return difference !== 0
    },
    settle: () => settled.set(now),
    close: index.close,
  }
}
