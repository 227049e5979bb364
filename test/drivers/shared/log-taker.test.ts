/** The write-ahead log is taken into the database beside the commits, and starts again. */
import type { Database } from 'bun:sqlite'
import { afterAll, expect, test } from 'bun:test'
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connectReader, connectWriter } from '../../../src/drivers/shared/sqlite/connect.ts'
import { type LogTaker, type LogTakerOptions, logTaker } from '../../../src/drivers/shared/sqlite/log-taker.ts'
import { walIndex } from '../../../src/drivers/shared/sqlite/wal-index.ts'

const pages = 40
const dirs: string[] = []
afterAll(() => {
  for (const dir of dirs) rmSync(dir, { recursive: true, force: true })
})

interface Taken {
  path: string
  db: Database
  taker: LogTaker
  failures: unknown[]
  left(): number
  /** Commits so many times; each writes two pages or more. */
  write(times: number): void
  /** Commits, a few in each turn of the loop. */
  writeUntil(done: () => boolean): Promise<void>
  end(): Promise<void>
}

function opened(alone: LogTakerOptions['alone'] = (work) => work()): Taken {
  const dir = mkdtempSync(join(tmpdir(), 'cstp-log-'))
  dirs.push(dir)
  const path = join(dir, 'a.db')
  const db = connectWriter(path, (one) => one.run('create table t (n integer primary key, text)'))
  // As long as the thread, when it opens the database, reads a header that is being written, nobody else can begin to write.
  db.run('PRAGMA busy_timeout = 1000')
  const failures: unknown[] = []
  const taker = logTaker({ db, alone, failed: (error) => failures.push(error), pages })
  const index = walIndex(db)!
  const text = 'x'.repeat(5_000)
  const write = (times: number): void => {
    for (let at = 0; at < times; at++) {
      db.run('insert into t (text) values (?)', [text])
      taker.committed()
    }
  }
  return {
    path,
    db,
    taker,
    failures,
    left: index.pagesLeft,
    write,
    async writeUntil(done) {
      for (let at = 0; !done() && at < 5_000; at++) {
        // Some of them while the thread works.
        write(5)
        await Bun.sleep(1)
      }
      expect(done()).toBe(true)
    },
    async end() {
      await taker.close()
      db.close()
    },
  }
}

const count = (db: Database): number => db.query<{ n: number }, []>('select count(*) as n from t').get()!.n

test('a log of so many pages is taken by the thread, before a commit would have to, and starts again', async () => {
  const { write, left, end, failures } = opened()
  while (left() < pages) write(1)
  for (let at = 0; left() > 0 && at < 5_000; at++) await Bun.sleep(1)
  expect(left()).toBe(0)
  write(1)
  expect(left() < pages).toBe(true)
  expect(failures).toEqual([])
  await end()
})

test('what was committed while the thread worked is taken between two transactions', async () => {
  const seen: number[] = []
  const { writeUntil, left, end } = opened(async (work) => {
    seen.push(left())
    await work()
    seen.push(left())
  })
  // Nothing is written from here to the end of the work.
  await writeUntil(() => seen.length > 0)
  for (let at = 0; seen.length < 2 && at < 5_000; at++) await Bun.sleep(1)
  expect([seen[0]! > 0, seen[1]]).toEqual([true, 0])
  await end()
})

test('who writes without a pause keeps a log that is bounded', async () => {
  let waits = Promise.resolve()
  const { write, end, path, db } = opened((work) => {
    waits = work()
    return waits
  })
  for (let at = 0; at < 80; at++) {
    await waits
    write(5)
    await Bun.sleep(1)
  }
  // All of it would be 20 times as many or more, of 4 KiB and 24 bytes; what is written while the thread takes others comes on top.
  expect(statSync(`${path}-wal`).size < 10 * pages * 4_120).toBe(true)
  expect(count(db)).toBe(400)
  await end()
})

test('pages that a reader still needs are left to a later time', async () => {
  const { path, writeUntil, left, end, failures } = opened()
  const reader = connectReader(path)
  reader.run('begin')
  expect(count(reader)).toBe(0)
  await writeUntil(() => left() > 3 * pages)
  expect(count(reader)).toBe(0)
  reader.close()
  await writeUntil(() => left() < pages)
  expect(failures).toEqual([])
  await end()
})

test('a thread that fails is told once, and the log is taken by commits', async () => {
  const { write, writeUntil, left, end, failures } = opened(() => Promise.reject(new Error('no')))
  await writeUntil(() => failures.length > 0)
  write(4 * pages)
  expect(left() < 2 * pages + 10).toBe(true)
  expect(failures.map(String)).toEqual(['Error: no'])
  await end()
})

test('a thread that is lost is told, and nobody waits for it at the end', async () => {
  const threads: Worker[] = []
  const { Worker: Thread } = globalThis
  globalThis.Worker = class extends Thread {
    constructor(script: string | URL) {
      super(script)
      threads.push(this)
    }
  }
  try {
    const { writeUntil, end, failures } = opened()
    await writeUntil(() => threads.length > 0)
    threads[0]!.terminate()
    await writeUntil(() => failures.length > 0)
    expect(failures.map(String)).toEqual(['Error: the thread that checkpoints the log has ended'])
    await end()
  } finally {
    globalThis.Worker = Thread
  }
})
