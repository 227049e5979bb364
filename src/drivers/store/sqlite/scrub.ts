/**
 * Removes erased data from the disk: it empties the write-ahead log, and has a thread overwrite whatever deleted rows left in the file.
 * Others read and write meanwhile. Nothing has to be remembered: a pass that was stopped is begun again, and finds less.
 */
import type { Database } from 'bun:sqlite'
import { closeSync, openSync } from 'node:fs'
import { startWorker, type WorkerCalls, workerCall } from '../../../core/worker.ts'
import { storageErrorOf } from '../../shared/sqlite/connect.ts'
import type { Committer } from './commit.ts'
import { emptyLog } from './connect.ts'
import type { Looked, ScrubRequest } from './scrub-worker.ts'

/** A reader in another process holds the log while it reads, and files of other processes stay pending for a few milliseconds. */
const attempts = 40
const pause_ms = 50
/** Pages cleaned at once: commits wait meanwhile, for some milliseconds. */
const cleanedAtOnce = 256
/** While the first pass cleans, a commit may move what is left in a page to a page that was looked at before. */
const passes = 2

/** The items that stay in the list, after other processes had time to finish theirs. */
export async function remaining(list: () => string[]): Promise<string[]> {
  let left = list()
  for (let attempt = 1; attempt < attempts && left.length > 0; attempt++) {
    await Bun.sleep(pause_ms)
    const now = new Set(list())
    left = left.filter((one) => now.has(one))
  }
  return left
}

async function inTime(attempt: () => Promise<boolean>): Promise<boolean> {
  for (let left = attempts; left > 1; left--) {
    if (await attempt()) return true
    await Bun.sleep(pause_ms)
  }
  return attempt()
}

export function scrubber(db: Database, commits: Pick<Committer, 'alone'>) {
  const path = db.filename
  // Stays open: closing any descriptor of a file drops all locks of the process on it, SQLite's too.
  let file: number | undefined
  let stopped = false
  let running: Promise<string[]> | null = null
  let waiting: Promise<string[]> | null = null

  const emptied = () => inTime(() => commits.alone(() => emptyLog(db)))

  /** @returns false if other processes use the log, or the store is being closed */
  async function pass({ call }: WorkerCalls<ScrubRequest>, file: number): Promise<boolean> {
    for (let from: number | null = 1; from !== null; ) {
      const { dirty, next }: Looked = await call<Looked>({ path, file, from })
      while (dirty.length > 0) {
        const clean = dirty.splice(0, cleanedAtOnce)
        if (!(await inTime(() => commits.alone(() => call<boolean>({ path, file, clean }))))) return false
      }
      if (stopped) return false
      from = next
    }
    return true
  }

  async function overwrite(): Promise<string[]> {
    const left = 'cstp.db-wal: another process reads the database'
    const worker = workerCall<ScrubRequest>(startWorker('drivers/store/sqlite/scrub-worker.ts'))
    try {
      if (!(await emptied())) return [left]
      file ??= openSync(path, 'r+')
      for (let at = 0; at < passes; at++) if (!(await pass(worker, file))) return [left]
      return (await emptied()) ? [] : [left]
    } catch (error) {
      return [`cstp.db: ${storageErrorOf(error, 'it could not be overwritten').message}`]
    } finally {
      await worker.call({ path, file: file ?? -1 }).catch(() => {})
      worker.terminate()
    }
  }

  return {
    /** @returns descriptions of what is left */
    scrub(): Promise<string[]> {
      if (running === null) {
        running = overwrite().finally(() => {
          running = null
        })
        return running
      }
      // A pass that has begun may have looked already at what was deleted since: one more does for all who wait.
      waiting ??= running.then(() => {
        waiting = null
        return this.scrub()
      })
      return waiting
    },
    /** Ends a pass in progress. */
    async stop() {
      stopped = true
      await running?.catch(() => {})
    },
    /** Call it once the database is closed. */
    close() {
      if (file !== undefined) closeSync(file)
      file = undefined
    },
  }
}
