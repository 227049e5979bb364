/** Detects commits of any process from the header that each commit changes, without asking SQLite. */
import type { Database } from 'bun:sqlite'
import { type MapFile, mapped, walIndex } from '../../shared/sqlite/wal-index.ts'

export interface CommitMark {
  /** False if nothing was committed since the state confirmed by {@link settle}; also true if that can't be determined. */
  moved(): boolean
  /** Confirms that everything committed before the last {@link moved} has been read. */
  settle(): void
  /** Call it before the database is closed; commits can't be detected after that. */
  close(): void
}

/** For systems on which commits can't be detected. */
export const everMoved: CommitMark = { moved: () => true, settle: () => {}, close: () => {} }

/** @param db a connection that has been read from and stays open */
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
