/** The thread that takes the pages of write-ahead logs into their databases, each on a connection of its own. */
import type { Database } from 'bun:sqlite'
import { fdatasyncSync } from 'node:fs'
import { messageOf } from '../../../core/log.ts'
import { openExisting } from './connect.ts'
import { descriptorOf } from './wal-index.ts'

/** What it is asked: to take what it can without making anybody wait, or to end. */
export type LogRequest = { take: string } | { end: true }
export type LogReply = { done: true } | { error: string }

declare const self: Worker

let db: Database | undefined

/** SQLite waits for the disk only when the database has all of the log: for what was taken before too, while nobody can write. So it is done here. */
function sync(path: string): void {
  const file = descriptorOf(path)
  try {
    if (file !== null) fdatasyncSync(file)
  } catch {
    // Its connection was closed just now; SQLite does it in the end.
  }
}

function answer(request: LogRequest): void {
  if ('end' in request) db?.close()
  else {
    if (db === undefined) {
      db = openExisting(request.take)
      // The log is synced before pages are taken from it, the database after.
      db.run('PRAGMA synchronous = NORMAL')
    }
    db.run('PRAGMA wal_checkpoint(PASSIVE)')
    sync(request.take)
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
