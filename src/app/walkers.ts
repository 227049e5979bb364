/** Threads that verify the evidence, each with its own connection, so that a long verification does not block the server's thread. */

import type { Log } from '../core/log.ts'
import { startThread } from '../core/thread.ts'
import type { Piece, Walkers } from '../domain/ledger/engine/walk.ts'
import { isPostgres } from './config/config.ts'
import type { WalkReply, WalkRequest } from './walk-worker.ts'

interface Thread {
  worker: Worker
  waiting: PromiseWithResolvers<Piece> | null
}

/** The other cores are left to the server. */
const maxThreads = 2

/** @param place path of the evidence database, or its address in PostgreSQL */
export function startWalkers(place: string, cores: number, log: Log): Walkers {
  const idle: Thread[] = []
  const asked: ((thread: Thread) => void)[] = []
  let failure: Error | null = null
  const free = (thread: Thread) => {
    const next = asked.shift()
    if (next) next(thread)
    else idle.push(thread)
  }

  function start(): Thread {
    const thread: Thread = { worker: startThread('app/walk-worker.ts'), waiting: null }
    const fail = (message: string) => {
      if (!failure)
        log('warn', 'a worker thread that verifies evidence failed; verification continues without it', {
          error: message,
        })
      failure ??= new Error(message)
      thread.waiting?.reject(failure)
      for (const next of asked.splice(0)) next(thread)
    }
    thread.worker.addEventListener('error', (event) => fail(event.message))
    thread.worker.addEventListener('message', ({ data }: MessageEvent<WalkReply>) => {
      const { waiting } = thread
      thread.waiting = null
      if ('piece' in data) waiting?.resolve(data.piece)
      else waiting?.reject(new Error(data.error))
      free(thread)
    })
    thread.worker.postMessage({ open: place, postgres: isPostgres(place) } satisfies WalkRequest)
    return thread
  }

  const threads = Array.from({ length: Math.max(1, Math.min(maxThreads, cores)) }, start)
  idle.push(...threads)
  return {
    lanes: threads.length,
    async walk(index, end, wanted) {
      if (failure) throw failure
      const thread = idle.pop() ?? (await new Promise<Thread>((resolve) => asked.push(resolve)))
      if (failure) throw failure
      thread.waiting = Promise.withResolvers()
      thread.worker.postMessage({ index, end, wanted } satisfies WalkRequest)
      return thread.waiting.promise
    },
    close() {
      for (const { worker } of threads) worker.terminate()
    },
  }
}
