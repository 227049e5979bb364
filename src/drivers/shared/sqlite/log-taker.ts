/**
 * Takes the pages of a write-ahead log into the database in a thread of its own: SQLite would do so inside of a COMMIT, which holds the event
 * loop up until the disk has them. First while others go on writing, again as long as that leaves much less, then the last few between two
 * transactions: so the log is all taken, and the next commit writes it from its start again.
 */
import type { Database } from 'bun:sqlite'
import { startThread } from '../../../core/thread.ts'
import type { LogReply, LogRequest } from './log-worker.ts'
import { walIndex } from './wal-index.ts'

/** Pages of 4 KiB. A page that was written often is taken once. */
const usualPages = 8_000
/** If the thread does not come to it, or can't, SQLite takes the log at the first commit above so many times as much. */
const bound = 2

export interface LogTaker {
  /** Called after each commit. */
  committed(): void
  /** Ends the thread; before the connection that it was given is closed. */
  close(): Promise<void>
}

export interface LogTakerOptions {
  /** The connection that writes. */
  db: Database
  /** Runs something while this process writes nothing. */
  alone(work: () => Promise<void>): Promise<void>
  /** Called once: the thread can't do it, and commits will. */
  failed?(error: unknown): void
  /** The log is taken once it has this many pages. */
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
  // One thing at a time.
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
      // Pages that another process still reads may be left.
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
