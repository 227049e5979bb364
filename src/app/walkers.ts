/** Threads that verify the evidence, each with its own connection, so that a long verification does not block the server's thread. */
import { type Log, messageOf } from '../core/log.ts'
import { startWorker, workerCall } from '../core/worker.ts'
import type { Piece, Walkers } from '../domain/ledger/engine/walk.ts'
import { isPostgres } from './config/config.ts'
import type { WalkRequest } from './walk-worker.ts'

/** The other cores are left to the server. */
const maxThreads = 2

/** @param place path of the evidence database, or its address in PostgreSQL */
export function startWalkers(place: string, cores: number, log: Log): Walkers {
  const postgres = isPostgres(place)
  const threads = Array.from({ length: Math.max(1, Math.min(maxThreads, cores)) }, () =>
    workerCall<WalkRequest>(startWorker('app/walk-worker.ts')),
  )
  let next = 0
  let failure: unknown
  return {
    lanes: threads.length,
    async walk(index, end, wanted) {
      if (failure) throw failure
      const thread = threads[next++ % threads.length]!
      try {
        return await thread.call<Piece>({ place, postgres, index, end, wanted })
      } catch (error) {
        if (!failure)
          log('warn', 'a worker thread that verifies evidence failed; verification continues without it', {
            error: messageOf(error),
          })
        failure ??= error
        throw error
      }
    },
    close() {
      for (const thread of threads) thread.terminate()
    },
  }
}
