/** The thread that checkpoints a write-ahead log, on its own connection. */
import type { Database } from 'bun:sqlite'
import { fdatasyncSync } from 'node:fs'
import { messageOf } from '../../../core/log.ts'
import { openExisting } from './connect.ts'
import { descriptorsOf } from './wal-index.ts'

/** Asks the thread to copy as many pages as it can without blocking readers or writers, or to end. */
export type LogRequest = { take: string } | { end: true }
export type LogReply = { done: true } | { error: string }

declare const self: Worker

let db: Database | undefined
/** The file descriptor of this connection. */
let held: number | undefined

function open(path: string): Database {
  const others = descriptorsOf(path)
  const opened = openExisting(path)
  // With NORMAL, SQLite syncs the log before copying pages from it, and the database afterwards.
  opened.run('PRAGMA synchronous = NORMAL')
  held = descriptorsOf(path).find((one) => !others.includes(one))
  return opened
}

function answer(request: LogRequest): void {
  if ('end' in request) db?.close()
  else {
    db ??= open(request.take)
    db.run('PRAGMA wal_checkpoint(PASSIVE)')
    // SQLite syncs the database only after the whole log has been copied. That sync would include the pages of earlier passes and block
    // writers, so each pass is synced here. The operating system reports a failed write once for each descriptor; syncing with this thread's
    // own leaves the report to commits intact.
    if (held !== undefined) fdatasyncSync(held)
  }
}

self.onmessage = ({ data }: MessageEvent<LogRequest>) => {
  let reply: LogReply = { done: true }
  try {
    answer(data)
  } catch (error) {
    reply = { error: messageOf(error) }
  }
  self.postMessage(reply)
}
