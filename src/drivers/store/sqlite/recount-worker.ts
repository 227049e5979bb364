/** A thread that compares the counters of a store with a recount, or recounts them: with 100 000 decisions, either takes seconds. */
import { messageOf } from '../../../core/log.ts'
import { begin, connectReader, connectWriter } from '../../shared/sqlite/connect.ts'
import { type Counter, recount, wrongCounters } from './recount.ts'

export interface RecountRequest {
  database: string
  /** Whether to recount them. */
  correct: boolean
}
export type RecountReply = { wrong: Counter[] } | { error: string }

declare const self: Worker

const patience_ms = 60_000

/** Compares in one read transaction, so that all statements see the same state. */
function compare(database: string): Counter[] {
  const db = connectReader(database)
  try {
    db.run('BEGIN')
    return wrongCounters(db)
  } finally {
    db.close()
  }
}

async function correct(database: string): Promise<void> {
  const db = connectWriter(database, (one) => one.run('PRAGMA secure_delete = FAST'))
  try {
    await begin(db, performance.now() + patience_ms)
    recount(db)
    db.run('COMMIT')
  } finally {
    // Rolls back an uncommitted transaction.
    db.close()
  }
}

async function answer(request: RecountRequest): Promise<Counter[]> {
  if (!request.correct) return compare(request.database)
  await correct(request.database)
  return []
}

self.onmessage = async ({ data }: MessageEvent<RecountRequest>) => {
  const reply: RecountReply = await answer(data).then(
    (wrong) => ({ wrong }),
    (error: unknown) => ({ error: messageOf(error) }),
  )
  self.postMessage(reply)
}
