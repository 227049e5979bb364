/** The thread that takes the pages of write-ahead logs into their databases, each on a connection of its own. */
import type { Database } from 'bun:sqlite'
import { fdatasyncSync } from 'node:fs'
import { messageOf } from '../../../core/log.ts'
import { openExisting } from './connect.ts'
import { descriptorsOf } from './wal-index.ts'

/** What it is asked: to take what it can without making anybody wait, or to end. */
export type LogRequest = { take: string } | { end: true }
export type LogReply = { done: true } | { error: string }

declare const self: Worker

let db: Database | undefined
/** By which this connection holds the database. */
let held: number | undefined

function open(path: string): Database {
  const others = descriptorsOf(path)
  const opened = openExisting(path)
  // The log is synced before pages are taken from it, the database after.
  opened.run('PRAGMA synchronous = NORMAL')
  held = descriptorsOf(path).find((one) => !others.includes(one))
  return opened
}

function answer(request: LogRequest): void {
  if ('end' in request) db?.close()
  else {
    db ??= open(request.take)
    db.run('PRAGMA wal_checkpoint(PASSIVE)')
    // SQLite waits for the disk only when the database has all of the log: for what was taken before too, while nobody can write. So it is
    // done here, by a descriptor of this thread: the system reports to each once what it could not write, and a commit is to hear of it too.
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
