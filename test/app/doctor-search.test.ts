/** The doctor says when a store has outgrown a program without LanceDB, and finds what was changed in the table of its search index. */
import { expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect, type Table } from '@lancedb/lancedb'
import { random, unitVector } from '../../sdk/storage/conformance/search/corpus.ts'
import { idOf, recordOf, suiteOptions } from '../../sdk/storage/conformance/store/records.ts'
import { loadSettings } from '../../src/app/config/config.ts'
import { checkSearch, searchFindings } from '../../src/app/doctor/search.ts'
import { ownershipOf } from '../../src/app/search.ts'
import { openIndexSync } from '../../src/domain/search/index-sync.ts'
import { openLanceSearch } from '../../src/drivers/search/lancedb/driver.ts'
import { load } from '../../src/drivers/search/lancedb/library.ts'
import { readState, type StoredState, writeState } from '../../src/drivers/search/lancedb/state.ts'
import { openSqliteStore } from '../../src/drivers/store/sqlite/driver.ts'
import { relativePath } from '../../src/drivers/store/sqlite/files.ts'

const absent = () => Promise.reject(new Error('no such module'))

test('a large store without LanceDB is warned of; a small one, or a program that has it, is not', async () => {
  const found = await Array.fromAsync(searchFindings(20_001, absent))
  expect(found).toMatchObject([{ severity: 'warning' }])
  expect(found[0]!.what).toContain('20001')
  let asked = 0
  const library = async () => asked++
  expect(await Array.fromAsync(searchFindings(20_000, library))).toEqual([])
  expect(asked).toBe(0)
  expect(await Array.fromAsync(searchFindings(20_001, library))).toEqual([])
  expect(asked).toBe(1)
})

const vectors = (number: number) => {
  const next = random(number)
  const damaged = Float32Array.of(Number.NaN, 0, 0, 0)
  // The index refuses those of number 8.
  if (number === 8) return { structure: damaged, function: damaged, both: damaged }
  return { structure: unitVector(next, 4), function: unitVector(next, 4), both: unitVector(next, 4) }
}

/** A store whose table lacks its newest changes: a decision added, one changed, one removed; another was removed before. */
async function filled(dir: string): Promise<void> {
  const url = join(dir, 'search')
  const store = await openSqliteStore({ ...suiteOptions, dir })
  const put = (number: number, revision = 0) =>
    store.transaction(async (tx) => {
      await tx.decisions.put(recordOf(number, { revision_count: revision }), revision)
      // The one of number 3 waits for its vectors.
      if (number !== 3)
        await tx.embeddings.put(idOf(number), { embedder: 'test:1', vectors: vectors(number + revision) })
    })
  const search = openLanceSearch({ url, ownership: ownershipOf(store, url), max_in_memory: 7 })
  for (let number = 0; number < 11; number++) await put(number)
  const remove = (number: number) => {
    rmSync(join(dir, 'decisions', relativePath(idOf(number))))
    return store.reconcile()
  }
  await remove(6)
  const index = await openIndexSync({ store, search, log: () => {}, yieldToEventLoop: () => Bun.sleep(0) })
  await index.sync()
  expect((await index.state()).in_memory).toBe(0)
  for (const number of [11, 4]) await put(number, number === 4 ? 1 : 0)
  await remove(5)
  await index.sync()
  expect((await index.state()).in_memory).toBe(3)
  await index.close()
  await store.close()
}

const id = idOf(2)
const where = `id = '${id}'`
async function addCopy(rows: Table, changes: Record<string, unknown>): Promise<void> {
  const [row] = await rows.query().where(where).toArray()
  const lists = (value: unknown) =>
    value !== null && typeof value === 'object' ? [...(value as Iterable<unknown>)] : value
  const copy = Object.fromEntries(Object.entries(row).map(([name, value]) => [name, lists(value)]))
  await rows.add([{ ...copy, ...changes }])
}

const edits: [string, (rows: Table, state: StoredState) => unknown, string | null][] = [
  ['untouched', () => {}, null],
  ['a row removed', (rows) => rows.delete(where), `lacks ${id}: no search finds it`],
  ['a row added', (rows) => addCopy(rows, { id: idOf(99) }), 'holds 1 rows more than the decisions of the store'],
  ['a row twice', (rows) => addCopy(rows, {}), `holds ${id} 2 times`],
  [
    'a row of a decision that was removed',
    (rows) => addCopy(rows, { id: idOf(6) }),
    `holds ${idOf(6)}, which the store does not have`,
  ],
  [
    'a filter column changed',
    (rows) => rows.update({ where, values: { category: 'other' } }),
    `holds another category of ${id} than the store`,
  ],
  ['a list changed', (rows) => rows.update({ where, valuesSql: { tags: `make_array('x')` } }), `another tags of ${id}`],
  [
    'marked as without vectors',
    (rows) => rows.update({ where, values: { indexed: false } }),
    `another indexed of ${id}`,
  ],
  [
    'terms changed',
    (rows) => rows.update({ where, values: { terms: 'nothing', words: ['nothing'] } }),
    `another terms, words of ${id}`,
  ],
  [
    'a vector changed',
    async (rows) => {
      await addCopy(rows, { id: 'copy', both: [1, 0, 0, 0] })
      await rows.delete(where)
      await rows.update({ where: `id = 'copy'`, values: { id } })
    },
    `another both of ${id}`,
  ],
  ['statistics changed', (_, { stats }) => stats.add({ terms: 'cach', vectors: false }, -1), 'counts other terms'],
]
test.each(edits)('the doctor compares the table of the search index with the store: %s', async (_, edit, expected) => {
  const dir = mkdtempSync(join(tmpdir(), 'cstp-doctor-search-'))
  try {
    await filled(dir)
    const connection = await connect(join(dir, 'search'))
    const engine = { ...(await load()), connection }
    const state = (await readState(engine, 1))!
    const rows = await connection.openTable('decisions_g1')
    await edit(rows, state)
    // Searches read the version that the state names.
    await writeState(engine, 1, { ...state, version: await rows.version() })
    const { settings } = await loadSettings({ env: { CSTP_DATA_DIR: dir }, flags: {}, readFile: async () => '' })
    const found = await Array.fromAsync(checkSearch.run(settings))
    if (expected === null) expect(found).toEqual([])
    else
      expect(found[0]).toMatchObject({
        severity: 'error',
        what: expect.stringContaining(expected),
        fix: expect.stringContaining('cstp reindex'),
      })
  } finally {
    rmSync(dir, { recursive: true, force: true })
  }
})
