/** Files that the embedded store owes: what can't be written holds up nothing else, and is not forgotten. */
import { expect, setDefaultTimeout, test } from 'bun:test'
import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { createAll, idOf, recordOf } from '../../../sdk/storage/conformance/store/records.ts'
import { readDecision, readDecisions } from '../../../sdk/storage/decisions.ts'
import type { Store } from '../../../sdk/storage/store.ts'
import { connectReader } from '../../../src/drivers/shared/sqlite/connect.ts'
import { recordFile } from '../../../src/drivers/store/sqlite/parse.ts'
import * as fc from '../../support/property.ts'
import { behind, differences, freshDir, type Logged, openAt, pathOf } from './sqlite-tools.ts'

setDefaultTimeout(120_000)

const pendingIn = (dir: string) =>
  behind(dir, (db) => db.query('select id from pending_files join decisions using (num) order by id').values().flat())
const temps = (dir: string) =>
  readdirSync(join(dir, 'decisions'), { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.tmp'))

/** A folder with something in it, where a file should be. */
const block = (path: string) => mkdirSync(join(path, 'in the way'), { recursive: true })

test('a file that can not be written holds up no other, at commits and at the start, and leaves nothing behind', async () => {
  const dir = freshDir()
  const log: Logged[] = []
  const store = await openAt(dir, log)
  await createAll(store, [recordOf(1)])
  block(pathOf(dir, idOf(2)))
  await createAll(store, [recordOf(2), recordOf(3)])
  for (const number of [4, 5]) await createAll(store, [recordOf(number)])
  await store.reconcile()
  expect([pendingIn(dir), temps(dir)]).toEqual([[idOf(2)], []])
  for (const number of [3, 4, 5]) expect(existsSync(pathOf(dir, idOf(number)))).toBe(true)
  expect(log.filter(({ level }) => level === 'error').length).toBe(1)
  await store.close()

  behind(dir, (db) => db.run('insert or ignore into pending_files select num, revision from decisions'))
  rmSync(pathOf(dir, idOf(3)))
  const next = await openAt(dir, log)
  expect((await readDecision(next.decisions, idOf(2)))?.record).toEqual(recordOf(2))
  expect([pendingIn(dir), temps(dir)]).toEqual([[idOf(2)], []])
  expect(log.filter(({ level }) => level === 'error').length).toBe(2)
  rmSync(pathOf(dir, idOf(2)), { recursive: true })
  await createAll(next, [recordOf(6)])
  expect(differences(dir)).toEqual([])
  await next.close()
})

const change = (store: Store, number: number, lessons: string) =>
  store.transaction(async (tx) => {
    const { record, revision } = (await readDecision(tx.decisions, idOf(number)))!
    await tx.decisions.put({ ...record, lessons }, revision)
  })

test('a file that was written again, but may not have been synced, is no edit of a person: it stays owed', async () => {
  const dir = freshDir()
  const store = await openAt(dir)
  await createAll(store, [recordOf(1)])
  await change(store, 1, 'new')
  await store.close()
  behind(dir, (db) => db.run('insert into pending_files select num, revision from decisions'))
  // As a start leaves it that ended between its renames and its commit.
  const later = Date.now() / 1_000 + 3_600
  utimesSync(pathOf(dir, idOf(1)), later, later)
  const next = await openAt(dir)
  const text = recordFile({ ...recordOf(1), lessons: 'new' })
  expect(readFileSync(pathOf(dir, idOf(1)), 'utf8')).toBe(text)
  // Written and synced once more, with the time of now.
  const { mtime } = behind(
    dir,
    (db) => db.query<{ mtime: number }, []>('select file_mtime as mtime from decisions').get()!,
  )
  expect(mtime < later * 1_000).toBe(true)
  expect(pendingIn(dir)).toEqual([])
  await next.close()
})

test('an erasure is over when the files of other decisions, which name what it took, are on the disk', async () => {
  const dir = freshDir()
  const store = await openAt(dir)
  await createAll(store, [recordOf(1), recordOf(2)])
  await change(store, 1, 'without it')
  expect(await store.scrub()).toEqual([])
  expect(pendingIn(dir)).toEqual([])
  rmSync(pathOf(dir, idOf(1)))
  block(pathOf(dir, idOf(1)))
  await change(store, 1, 'and without more')
  const left = [pathOf(dir, idOf(1)).slice(dir.length + 1)]
  expect(await store.scrub()).toEqual(left)
  // The database is not written again for it each time.
  const commits = connectReader(join(dir, 'cstp.db'))
  const version = () => commits.query('PRAGMA data_version').values()
  const before = version()
  expect(await store.scrub()).toEqual(left)
  expect(version()).toEqual(before)
  rmSync(pathOf(dir, idOf(1)), { recursive: true })
  expect(await store.scrub()).toEqual([])
  expect(version()).not.toEqual(before)
  commits.close()
  expect(differences(dir)).toEqual([])
  await store.close()
})

test('files that another process puts in place meanwhile are no rest of an erasure', async () => {
  const dir = freshDir()
  const store = await openAt(dir)
  await createAll(store, [recordOf(1)])
  await store.reconcile()
  behind(dir, (db) => db.run('insert into pending_files select num, revision from decisions'))
  const scrubbed = store.scrub()
  await Bun.sleep(20)
  behind(dir, (db) => db.run('delete from pending_files'))
  expect(await scrubbed).toEqual([])
  await store.close()
})

/** What a disk may hold of a file whose rename was not synced. */
const remains = fc.constantFrom('old', 'none', 'empty', 'part', 'new')
interface Step {
  number: number
  ahead_s: number
  remains: string
}
const step: fc.Arbitrary<Step> = fc.record({ number: fc.nat(3), ahead_s: fc.constantFrom(0, 3_600), remains })

test('a power failure after a commit loses nothing, whatever the disk has of the files and whatever the clock said', async () => {
  const run = async (steps: readonly Step[]) => {
    const dir = freshDir()
    const store = await openAt(dir)
    await createAll(
      store,
      [0, 1, 2, 3].map((number) => recordOf(number)),
    )
    await store.reconcile()
    // Somebody touched them, on a machine whose clock was ahead; that was seen.
    for (const { number, ahead_s } of steps) {
      const seconds = Date.now() / 1_000 + ahead_s
      utimesSync(pathOf(dir, idOf(number)), seconds, seconds)
    }
    await store.reconcile()
    const before = freshDir()
    cpSync(join(dir, 'decisions'), join(before, 'decisions'), { recursive: true, preserveTimestamps: true })
    const ids = [0, 1, 2, 3].map(idOf)
    await Promise.all(
      steps.map(async ({ number }, at) => {
        await change(store, number, `step ${at}`)
      }),
    )
    // The commit that clears pending files is not synced: as if it were lost.
    const after = freshDir()
    for (const name of ['cstp.db', 'cstp.db-wal']) copyFileSync(join(dir, name), join(after, name))
    behind(after, (db) => db.run('insert or ignore into pending_files select num, revision from decisions'))
    cpSync(join(before, 'decisions'), join(after, 'decisions'), { recursive: true, preserveTimestamps: true })
    for (const { number, remains } of steps) {
      const [place, from] = [pathOf(after, idOf(number)), pathOf(dir, idOf(number))]
      if (remains === 'none') rmSync(place, { force: true })
      else if (remains !== 'old') {
        const { mtimeMs } = statSync(from)
        writeFileSync(
          place,
          readFileSync(from).subarray(0, remains === 'new' ? undefined : remains === 'part' ? 40 : 0),
        )
        utimesSync(place, mtimeMs / 1_000, mtimeMs / 1_000)
      }
    }
    const expected = await readDecisions(store.decisions, ids)
    await store.close()
    const log: Logged[] = []
    const next = await openAt(after, log)
    expect(log).toEqual([])
    expect(await readDecisions(next.decisions, ids)).toEqual(expected)
    expect([differences(after), pendingIn(after)]).toEqual([[], []])
    await next.close()
  }
  await fc.assert(fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 5 }), run), { numRuns: 12 })
})

test('a file whose text the database has lost is left as it is', async () => {
  const dir = freshDir()
  const store = await openAt(dir)
  await createAll(store, [recordOf(1)])
  await store.close()
  behind(dir, (db) => {
    db.run('insert into pending_files select num, revision from decisions')
    db.run('delete from documents')
  })
  const log: Logged[] = []
  const next = await openAt(dir, log)
  expect(readFileSync(pathOf(dir, idOf(1)), 'utf8')).toBe(recordFile(recordOf(1)))
  expect(log.filter(({ level }) => level === 'error').length).toBe(1)
  await next.close()
})
