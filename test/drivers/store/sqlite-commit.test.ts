/** Group commit of the SQLite store: transactions share a commit, and one that fails leaves nothing of itself and harms no other. */
import { expect, setDefaultTimeout, spyOn, test } from 'bun:test'
import { chmodSync, existsSync, statSync } from 'node:fs'
import * as files from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { idOf, recordOf } from '../../../sdk/storage/conformance/store/records.ts'
import { connectReader } from '../../../src/drivers/shared/sqlite/connect.ts'
import { behind, differences, freshDir, type Logged, openAt, pathOf } from './sqlite-tools.ts'

setDefaultTimeout(120_000)

const keysIn = (dir: string) =>
  behind(dir, (db) => db.query("select key from keyed_records where collection = 'c' order by key").values().flat())

test('transactions that are queued in one turn share one commit', async () => {
  const dir = freshDir()
  const store = await openAt(dir)
  const other = connectReader(join(dir, 'cstp.db'))
  const version = () => other.query<{ data_version: number }, []>('PRAGMA data_version').get()!.data_version
  const before = version()
  const seen: number[] = []
  await Promise.all(
    ['a', 'b', 'c'].map(async (key, number) => {
      // As requests that the runtime has received together: it runs the promises of one before it reads the next.
      for (let promises = 0; promises < 50 * number; promises++) await null
      await store.transaction((tx) => tx.keyed.put('c', key, 1))
      seen.push(version())
    }),
  )
  expect(new Set(seen)).toEqual(new Set([before + 1]))
  expect(keysIn(dir)).toEqual(['a', 'b', 'c'])
  other.close()
  await store.close()
})

test('a transaction that fails after it wrote leaves nothing, and the others of its group are committed and run once', async () => {
  const dir = freshDir()
  const store = await openAt(dir)
  const runs = { a: 0, b: 0, c: 0 }
  const jobs = (['a', 'b', 'c'] as const).map((key, number) =>
    store.transaction(async (tx) => {
      runs[key]++
      await tx.keyed.put('c', key, 1)
      await tx.decisions.put(recordOf(number), 0)
      if (key === 'b') throw new Error('refused')
    }),
  )
  expect((await Promise.allSettled(jobs)).map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
  expect([runs, keysIn(dir)]).toEqual([{ a: 1, b: 1, c: 1 }, ['a', 'c']])
  expect([0, 1, 2].map((number) => existsSync(pathOf(dir, idOf(number))))).toEqual([true, false, true])
  expect(differences(dir)).toEqual([])
  await store.close()
})

test('an answered decision has its file in place, which is pending until it and its folder are synced', async () => {
  const dir = freshDir()
  const store = await openAt(dir)
  await store.transaction((tx) => tx.decisions.put(recordOf(1), 0))
  expect(existsSync(pathOf(dir, idOf(1)))).toBe(true)
  const pending = () => behind(dir, (db) => db.query('select * from pending_files').all().length)
  expect(pending()).toBe(1)
  const deadline = Date.now() + 20_000
  while (pending() > 0 && Date.now() < deadline) await Bun.sleep(10)
  expect(pending()).toBe(0)
  await store.transaction((tx) => tx.decisions.put(recordOf(2), 0))
  await store.close()
  expect(pending()).toBe(0)
})

test('a file whose sync fails stays pending, and the next commit writes it again', async () => {
  const dir = freshDir()
  const log: Logged[] = []
  const store = await openAt(dir, log)
  const { open } = files
  const failing = spyOn(files, 'open').mockImplementation(async (path, ...flags) => {
    const file = await open(path, ...flags)
    if (String(path).endsWith('.yaml')) file.sync = () => Promise.reject(new Error('EIO'))
    return file
  })
  await store.transaction((tx) => tx.decisions.put(recordOf(1), 0))
  const pending = () => behind(dir, (db) => db.query('select * from pending_files').all().length)
  const deadline = Date.now() + 20_000
  while (log.length === 0 && Date.now() < deadline) await Bun.sleep(10)
  expect([log.map(({ level }) => level), pending()]).toEqual([['error'], 1])
  failing.mockRestore()
  await store.transaction((tx) => tx.keyed.put('c', 'a', 1))
  expect([pending(), differences(dir)]).toEqual([0, []])
  await store.close()
})

test('a disk that syncs nothing any more stops what is written, and all of it goes on with the disk', async () => {
  const dir = freshDir()
  const store = await openAt(dir)
  const { open } = files
  const { promise: disk, resolve: goOn } = Promise.withResolvers<void>()
  const slow = spyOn(files, 'open').mockImplementation(async (path, ...flags) => {
    if (String(path).endsWith('.yaml')) await disk
    return open(path, ...flags)
  })
  let done = 0
  const all = Array.from({ length: 3_000 }, async (_, number) => {
    await store.transaction((tx) => tx.decisions.put(recordOf(number), 0))
    done++
  })
  for (let before = -1; before < done || done < 1_000; await Bun.sleep(1_000)) before = done
  expect(done).toBeWithin(1_000, 2_500)
  goOn()
  await Promise.all(all)
  slow.mockRestore()
  await store.close()
  expect(behind(dir, (db) => db.query('select * from pending_files').all())).toEqual([])
})

// An administrator may write anywhere.
test.skipIf(process.getuid?.() === 0)('a folder that refuses files refuses the transaction as a whole', async () => {
  const dir = freshDir()
  const store = await openAt(dir)
  await store.transaction((tx) => tx.decisions.put(recordOf(1), 0))
  chmodSync(dirname(pathOf(dir, idOf(1))), 0o500)
  await expect(
    store.transaction(async (tx) => {
      await tx.keyed.put('c', 'a', 1)
      await tx.decisions.put(recordOf(2), 0)
    }),
  ).rejects.toMatchObject({ name: 'StorageError', kind: 'unavailable' })
  chmodSync(dirname(pathOf(dir, idOf(1))), 0o700)
  expect(keysIn(dir)).toEqual([])
  await store.close()
})

test('the write-ahead log is copied into the database once nothing is written for a while', async () => {
  const dir = freshDir()
  const store = await openAt(dir)
  const size = () => statSync(join(dir, 'cstp.db')).size
  const before = size()
  const text = 'x'.repeat(200_000)
  await store.transaction((tx) => tx.keyed.put('c', 'long', text))
  expect(size()).toBe(before)
  const deadline = Date.now() + 20_000
  while (size() === before && Date.now() < deadline) await Bun.sleep(50)
  expect(size()).toBeGreaterThan(before)
  await store.close()
})
