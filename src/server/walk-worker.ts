/** A thread that walks pieces of an evidence database, one at a time. */
import { type Piece, walkPiece } from '../domain/evidence/walk.ts'
import { openSqliteEvidenceReader } from '../drivers/evidence/sqlite.ts'

export type WalkRequest = { open: string } | { index: number; end: number }
export type WalkReply = { piece: Piece } | { error: string }

declare const self: Worker

let reader: ReturnType<typeof openSqliteEvidenceReader> | undefined

self.onmessage = async ({ data }: MessageEvent<WalkRequest>) => {
  if ('open' in data) {
    reader = openSqliteEvidenceReader(data.open)
    return
  }
  const answer: WalkReply = await walkPiece(reader!, data.index, data.end, async () => {}).then(
    (piece) => ({ piece }),
    (error: unknown) => ({ error: error instanceof Error ? error.message : String(error) }),
  )
  self.postMessage(answer)
}
