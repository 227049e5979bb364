/** The files of all decisions are gone: nothing is hidden, and the database writes them again. */
import { expect, setDefaultTimeout, test } from 'bun:test'
import { mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { createAll, idOf, recordOf } from '../../../sdk/storage/conformance/store/records.ts'
import { readDecision } from '../../../sdk/storage/decisions.ts'
import { countDecisions } from '../../../sdk/storage/groups.ts'
import { recordFile } from '../../../src/drivers/store/sqlite/parse.ts'
import { writeLostFiles } from '../../../src/drivers/store/sqlite/repair.ts'
import { behind, differences, freshDir, openAt, pathOf } from './sqlite-tools.ts'

setDefaultTimeout(120_000)

const numbers = [1, 2, 3]

async function prepared(): Promise<string> {
  const dir = freshDir()
  const store = await openAt(dir)
  await createAll(
    store,
    numbers.map((number) => recordOf(number)),
  )
  await store.close()
  return dir
}

test.each([
  ['missing', (root: string) => rmSync(root, { recursive: true })],
  [
    'empty, as where a disk is not mounted',
    (root: string) => {
      rmSync(root, { recursive: true })
      mkdirSync(join(root, 'lost+found'), { recursive: true })
    },
  ],
])('a start is refused when the folder of the files is %s, and hides nothing', async (_, lose) => {
  const dir = await prepared()
  lose(join(dir, 'decisions'))
  for (let start = 0; start < 2; start++)
    await expect(openAt(dir)).rejects.toThrow(/has no files, and the database has 3 decisions.*cstp repair --files/)
  expect(behind(dir, (db) => db.query('select count(*) from decisions where gone = 0').values())).toEqual([[3]])
  expect(await writeLostFiles(dir)).toBe(3)
  expect(differences(dir)).toEqual([])
  const store = await openAt(dir)
  expect(await store.reconcile()).toEqual([])
  expect(await countDecisions(store.decisions, {})).toBe(3)
  await store.close()
})

test('a start writes the files of first decisions that were committed, and whose process ended before they were in place', async () => {
  const dir = await prepared()
  behind(dir, (db) => db.run('insert or ignore into pending_files select num, revision from decisions'))
  rmSync(join(dir, 'decisions'), { recursive: true })
  const store = await openAt(dir)
  expect(differences(dir)).toEqual([])
  expect(await countDecisions(store.decisions, {})).toBe(3)
  await store.close()
})

test('while a store is open, its decisions stay, and what it can’t keep in files is refused', async () => {
  const dir = await prepared()
  const store = await openAt(dir)
  const root = join(dir, 'decisions')
  renameSync(root, `${root}-aside`)
  await expect(store.reconcile()).rejects.toThrow('has no files')
  await expect(createAll(store, [recordOf(4)])).rejects.toThrow(`${root} is missing`)
  expect(await countDecisions(store.decisions, {})).toBe(3)
  renameSync(`${root}-aside`, root)
  await createAll(store, [recordOf(4)])
  expect(await store.reconcile()).toEqual([])
  await store.close()
  expect(differences(dir)).toEqual([])
})

test('files of hidden decisions are written too; those that exist, and erased decisions, are left alone', async () => {
  const dir = await prepared()
  rmSync(pathOf(dir, idOf(1)))
  const store = await openAt(dir)
  expect(await countDecisions(store.decisions, {})).toBe(2)
  await store.transaction((tx) => tx.erase({ decisions: [{ id: idOf(2), revision: 1 }] }))
  await store.close()
  expect(await writeLostFiles(dir)).toBe(1)
  expect(readFileSync(pathOf(dir, idOf(1)), 'utf8')).toBe(recordFile(recordOf(1)))
  const next = await openAt(dir)
  expect((await readDecision(next.decisions, idOf(1)))?.record).toEqual(recordOf(1))
  expect(await countDecisions(next.decisions, {})).toBe(2)
  await next.close()
})
