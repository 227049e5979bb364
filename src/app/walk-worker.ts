/** Thread that verifies pieces of an evidence log, one at a time, over its own read-only connection. */

import { StorageError } from '../../sdk/storage/errors.ts'
import { messageOf } from '../core/log.ts'
import { type Piece, type PieceReader, walkPiece } from '../domain/ledger/engine/walk.ts'
import { evidenceEntries } from '../domain/ledger/evidence/records.ts'

export type WalkRequest =
  | { open: string; postgres: boolean }
  | { index: number; end: number; wanted: ReadonlySet<string> }
export type WalkReply = { piece: Piece } | { error: string }

declare const self: Worker

let opening: Promise<PieceReader> | undefined

async function openReader(place: string, postgres: boolean): Promise<PieceReader> {
  if (!postgres)
    return evidenceEntries((await import('../drivers/evidence/sqlite/driver.ts')).openSqliteEvidenceReader(place))
  const reader = await (await import('../drivers/evidence/postgres/driver.ts')).openPostgresEvidenceReader(place)
  if (reader === null) throw new StorageError('unavailable', 'postgres evidence: there are no tables')
  return evidenceEntries(reader)
}

self.onmessage = async ({ data }: MessageEvent<WalkRequest>) => {
  if ('open' in data) {
    opening = openReader(data.open, data.postgres)
    await opening
    return
  }
  const reader = await opening!
  const answer: WalkReply = await walkPiece(reader, data.index, data.end, async () => {}, data.wanted).then(
    (piece) => ({ piece }),
    (error: unknown) => ({ error: messageOf(error) }),
  )
  self.postMessage(answer)
}
