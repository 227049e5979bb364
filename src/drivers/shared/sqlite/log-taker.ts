/**
 * Checkpoints a write-ahead log in a separate thread. SQLite would do it inside a COMMIT, which blocks the event loop until the disk has the
 * pages. The thread copies pages while others write, repeats as long as less than half as many remain, and copies the rest between two
 * transactions. The whole log is copied then, so the next commit overwrites it from its start.
 */
import type { Database } from 'bun:sqlite'
import { startThread } from '../../../core/thread.ts'
import type { LogReply, LogRequest } from './log-worker.ts'
import { walIndex } from './wal-index.ts'

/** In pages of 4 KiB. A page that was written several times is copied once. */
const usualPages = 8_000
/** If the thread is too slow or not available, SQLite checkpoints in the first commit after the log has this many times as many pages. */
const bound = 2

export interface LogTaker {
  /** Called after each commit. */
  committed(): void
  /** Ends the thread. Call it before the connection is closed. */
  close(): Promise<void>
}

export interface LogTakerOptions {
  /** The connection that writes. */
  db: Database
  /** Runs `work` while this process writes nothing. */
  alone(work: () => Promise<void>): Promise<void>
  /** Called once, if the thread fails: from then on commits do the checkpoints. */
  failed?(error: unknown): void
  /** The log is checkpointed once it has this many pages. */
  pages?: number
}

function startTaker(path: string) {
  const worker = startThread('drivers/shared/sqlite/log-worker.ts')
  let waiting = Promise.withResolvers<void>()
  let isLost = false
  const lost = () => waiting.reject(new Error('the thread that checkpoints the log has ended'))
  worker.addEventListener('error', ({ message }) => waiting.reject(new Error(message)))
  worker.addEventListener('close', () => {
    isLost = true
    lost()
  })
  worker.addEventListener('message', ({ data }: MessageEvent<LogReply>) => {
    if ('error' in data) waiting.reject(new Error(data.error))
    else waiting.resolve()
  })
  // One request at a time.
  const ask = (request: LogRequest): Promise<void> => {
    waiting = Promise.withResolvers()
    if (isLost) lost()
    else worker.postMessage(request)
    return waiting.promise
  }
  return {
    take: () => ask({ take: path }),
    end: () => ask({ end: true }).finally(() => worker.terminate()),
  }
}

export function logTaker({ db, alone, failed, pages = usualPages }: LogTakerOptions): LogTaker {
  const index = walIndex(db)
  db.run(`PRAGMA wal_autocheckpoint = ${index === null ? pages : bound * pages}`)
  let thread: ReturnType<typeof startTaker> | undefined
  let taking: Promise<void> | null = null
  let due = pages
  let ended = index === null

  async function take(): Promise<void> {
    thread ??= startTaker(db.filename)
    let left = index!.pagesLeft()
    for (let before = Number.POSITIVE_INFINITY; !ended && left > 0 && left < before / 2; left = index!.pagesLeft()) {
      before = left
      await thread.take()
    }
    if (!ended && left > 0) await alone(thread.take)
  }

  return {
    committed() {
      if (ended || taking !== null) return
      const left = index!.pagesLeft()
      if (left < pages) due = pages
      if (left < due) return
      // Pages may remain because another process still reads from the log.
      due = left + pages
      taking = take()
        .catch((error) => {
          if (ended) return
          ended = true
          failed?.(error)
        })
        .finally(() => {
          taking = null
        })
    },
    async close() {
      ended = true
      await taking
      await thread?.end().catch(() => {})
    },
  }
}
