/** Thread that verifies pieces of an evidence log over its own read-only connection. */

import { StorageError } from '../../sdk/storage/errors.ts'
import { answerCalls } from '../core/worker.ts'
import { type PieceReader, walkPiece } from '../domain/ledger/engine/walk.ts'
import { evidenceEntries } from '../domain/ledger/evidence/chain.ts'

export interface WalkRequest {
  /** Path of the evidence database, or its address in PostgreSQL. */
  place: string
  postgres: boolean
  index: number
  end: number
  wanted: ReadonlySet<string>
}

let opening: Promise<PieceReader> | undefined

async function openReader(place: string, postgres: boolean): Promise<PieceReader> {
  if (!postgres)
    return evidenceEntries((await import('../drivers/evidence/sqlite/driver.ts')).openSqliteEvidenceReader(place))
  const reader = await (await import('../drivers/evidence/postgres/driver.ts')).openPostgresEvidenceReader(place)
  if (reader === null) throw new StorageError('unavailable', 'postgres evidence: there are no tables')
  return evidenceEntries(reader)
}

answerCalls<WalkRequest>(async ({ place, postgres, index, end, wanted }) => {
  opening ??= openReader(place, postgres)
  return walkPiece(await opening, index, end, async () => {}, wanted)
})
