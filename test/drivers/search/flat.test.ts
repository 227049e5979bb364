/** The plain files of a segment: rows are found by id, and read by address, as LanceDB holds them. */
import { afterAll, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdtempSync, rmSync, truncateSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as arrow from 'apache-arrow'
import { random, unitVector } from '../../../sdk/storage/conformance/search/corpus.ts'
import {
  holds,
  intersect,
  keepSets,
  noBits,
  put,
  rowsOf,
  sizeOf,
  unite,
} from '../../../src/drivers/search/lancedb/bits.ts'
import { openFlatReader, openFlatWriter, writeGone } from '../../../src/drivers/search/lancedb/flat.ts'
import { dot, nearestBy } from '../../../src/drivers/search/lancedb/reader.ts'
import { bodyOf, FlatError, openRecords, openRecordWriter } from '../../../src/drivers/search/lancedb/records.ts'
import { type Row, toTable } from '../../../src/drivers/search/lancedb/rows.ts'
import { distanceOf } from '../../../src/drivers/search/resident/nearest.ts'
import * as fc from '../../support/property.ts'
import { bitsWhere, dimensions, many, one } from './segment-tools.ts'

setDefaultTimeout(120_000)

const root = mkdtempSync(join(tmpdir(), 'cstp-flat-'))
afterAll(() => rmSync(root, { recursive: true, force: true }))

const rows = many(0, 1_500) as Row[]
const unindexed = 7
rows[unindexed] = { ...rows[unindexed]!, value: { ...rows[unindexed]!.value, vectors: null } }
/** LanceDB names rows by the file they are in. */
const runs = [
  { address: 2 ** 33, row: 0, count: 1_000 },
  { address: 2 ** 34 + 5, row: 1_000, count: 500 },
]
const everyRow = Int32Array.from(rows.keys())
const addressOf = (row: number) => (row < 1_000 ? 2 ** 33 + row : 2 ** 34 + 5 + row - 1_000)

async function written(name: string): Promise<string> {
  const folder = join(root, name)
  const writer = await openFlatWriter(folder, dimensions)
  for (let at = 0; at < rows.length; at += 400)
    await writer.add(toTable(arrow, rows.slice(at, at + 400), dimensions) as Parameters<typeof writer.add>[0])
  await writer.finish(runs)
  await writer.close()
  return folder
}

test('rows are found by id, and their texts and distances are those that were written', async () => {
  const reader = openFlatReader(await written('whole'), 3)
  const numbers = [0, unindexed, 999, 1_000, 1_499]
  const ids = numbers.map((number) => rows[number]!.id)
  const addresses = await reader.find([...ids, one(9_999).id, 'no such id'])
  expect(addresses).toEqual(numbers.map(addressOf))
  expect(await reader.find(rows.map(({ id }) => id))).toHaveLength(rows.length)
  const texts = await reader.texts(addresses)
  expect(texts.map(({ id, terms, indexed }) => [id, terms, indexed])).toEqual(
    numbers.map((number) => [rows[number]!.id, rows[number]!.value.terms, number !== unindexed]),
  )
  const { both } = rows[999]!.value.vectors!
  const query = { vector: both, side: 'both' } as const
  const { hits } = await reader.nearest(query, addresses, 2)
  expect(hits[0]).toEqual({ id: rows[999]!.id, distance: expect.closeTo(0, 6) })
  expect(hits).toHaveLength(2)
  expect((await reader.nearest(query, addresses, 9)).hits.map(({ id }) => id)).not.toContain(rows[unindexed]!.id)
  reader.close()
})

test('rows that come in order of their distance are compared until enough in a row are farther, equal ones among them', () => {
  const distances = [0.2, 0.1, Number.NaN, 0.4, 0.3, 0.2, 0.2, 0.5, 0.6, 0.05, 0.7, 0.8]
  const compared: number[] = []
  const distanceAt = (place: number): number => {
    compared.push(place)
    return distances[place]!
  }
  const idsOf = (places: readonly number[]) => places.map((place) => `id${place}`)
  const near = (beyond: number) => nearestBy({ count: distances.length, k: 2, beyond }, distanceAt, idsOf)
  expect(near(2)).toEqual({
    hits: [
      { id: 'id1', distance: 0.1 },
      { id: 'id0', distance: 0.2 },
    ],
    isSettled: true,
  })
  expect(compared).toEqual([0, 1, 2, 3, 4])
  // Row 9, which is out of order, is found with more patience; those that tie with the last one end no row of farther ones.
  expect(near(3).hits.map(({ id }) => id)).toEqual(['id9', 'id1'])
  expect(near(4)).toMatchObject({ isSettled: false })
})

test('rows that come in no order are compared until it is unlikely that a nearer one is left', () => {
  const count = 2_000
  let settled = 0
  for (let seed = 1; seed <= 100; seed++) {
    const distances = Array.from({ length: count }, random(seed))
    const idsOf = (places: readonly number[]) => places.map(String)
    settled += Number(nearestBy({ count, k: 10, beyond: 64 }, (place) => distances[place]!, idsOf).isSettled)
  }
  expect(settled).toBeLessThanOrEqual(5)
})

test('a row that went at a version is found before it alone', async () => {
  const folder = await written('gone')
  await writeGone(folder, 3, 4, [addressOf(5)])
  await writeGone(folder, 4, 6, [addressOf(1_001)])
  const ids = [5, 6, 1_001].map((number) => rows[number]!.id)
  for (const [version, left] of [
    [3, [5, 6, 1_001]],
    [4, [6, 1_001]],
    [6, [6]],
  ] as const) {
    const reader = openFlatReader(folder, version)
    expect(await reader.find(ids)).toEqual(left.map(addressOf))
    reader.close()
  }
})

test('the nearest of all rows are those of a comparison with each, whichever pass and are gone', async () => {
  const folder = await written('exact')
  const gone = [0, 3, 900, 1_001, 1_499]
  await writeGone(folder, 1, 2, gone.map(addressOf))
  const [whole, rest] = [openFlatReader(folder, 1), openFlatReader(folder, 2)]
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 1_000_000 }),
      fc.integer({ min: 1, max: 60 }),
      fc.integer({ min: 1, max: 400 }),
      fc.boolean(),
      fc.boolean(),
      fc.constantFrom(undefined, 0, 0.4, 0.8, 1, 2),
      async (seed, k, one_of, isWhole, isKept, within) => {
        const near = rows[seed % rows.length]!.value.vectors?.both
        const vector = near && seed % 2 === 0 ? near : unitVector(random(seed), dimensions)
        const isPassing = (row: number) => (row + seed) % one_of === 0
        const all = rows
          .flatMap(({ id, value: { vectors } }, row) =>
            vectors === null || !isPassing(row) || (!isWhole && gone.includes(row))
              ? []
              : [{ id, distance: distanceOf(dot(vector, vectors.both)) }],
          )
          .filter(({ distance }) => distance <= (within ?? 2))
        all.sort((a, b) => a.distance - b.distance || (a.id < b.id ? -1 : 1))
        const passing = one_of === 1 ? null : bitsWhere(rows.length, isPassing)
        const reader = (isWhole ? whole : rest).nearestOfAll!
        const kept = isKept ? await reader.keep(passing === null ? everyRow : rowsOf(passing), () => {}) : null
        const among = kept ?? reader.among(passing)
        expect(await reader.nearest({ vector, k, within }, among)).toEqual(all.slice(0, k))
        const isEven = (row: number) => row % 2 === 0
        const even = new Set(rows.filter((_, row) => isEven(row)).map(({ id }) => id))
        expect(await reader.nearest({ vector, k, within }, among, isEven)).toEqual(
          all.filter(({ id }) => even.has(id)).slice(0, k),
        )
        kept?.drop()
      },
    ),
    { numRuns: 200 },
  )
  whole.close()
  rest.close()
})

test('the rows that hold a term are counted as their texts say, without those that are gone', async () => {
  const folder = await written('counted')
  await writeGone(folder, 1, 2, [addressOf(0), addressOf(1_300)])
  const [whole, rest] = [openFlatReader(folder, 1), openFlatReader(folder, 2)]
  const holding = (terms: readonly string[], without: readonly number[]) =>
    rows.filter(
      ({ value }, row) => !without.includes(row) && value.terms.split(' ').some((term) => terms.includes(term)),
    )
  const vocabulary = [...new Set(rows.flatMap(({ value }) => value.terms.split(' ')))]
  for (const terms of [...vocabulary.map((term) => [term]), ['cache', 'lock'], vocabulary, ['nobody'], []]) {
    expect(await whole.words!.count(terms, null)).toBe(holding(terms, []).length)
    expect(await rest.words!.count(terms, null)).toBe(holding(terms, [0, 1_300]).length)
  }
  const some = rows.slice(0, 5).map(({ id }) => id)
  const held = holding(['cache'], [0]).filter(({ id }) => some.includes(id)).length
  expect(await rest.words!.count(['cache'], null, [...some, 'no such id'])).toBe(held)
  for (const reader of [whole, rest]) reader.close()
})

test('a record is found by its key however long its first line is', async () => {
  const folder = mkdtempSync(join(root, 'records-'))
  const keys = ['short', 'ü'.repeat(200), 'x'.repeat(5_000)]
  const writer = await openRecordWriter(folder, 'some')
  await writer.add(keys.map((key) => ({ key, bytes: Buffer.from(`${key}\nbody\nof ${key.length}`) })))
  await writer.finish()
  await writer.close()
  const records = openRecords(folder, 'some', (head) => head)
  expect(keys.map(records.find)).toEqual([0, 1, 2])
  expect(keys.map((_, number) => records.head(number))).toEqual(keys)
  expect(bodyOf(records.read(1)).toString()).toBe('body\nof 200')
  records.close()
})

test('sets of rows are counted, and only those that were used last are kept', () => {
  const bits = noBits(100)
  for (const row of [0, 31, 32, 63, 99]) put(bits, row)
  const others = noBits(100)
  for (const row of [31, 99, 98]) put(others, row)
  expect([sizeOf(bits), sizeOf(others), holds(bits, 31), holds(bits, 30)]).toEqual([5, 3, true, false])
  intersect(bits, others)
  expect([sizeOf(bits), holds(bits, 99), holds(bits, 98)]).toEqual([2, true, false])
  unite(bits, others)
  expect(sizeOf(bits)).toBe(3)
  const sets = keepSets<string>(100, 3 * bits.byteLength)
  for (const name of ['a', 'b', 'c']) sets.keep(name, name)
  expect(sets.known('a')).toBe('a')
  sets.keep('d', 'd')
  expect(['a', 'b', 'c', 'd'].map(sets.known)).toEqual(['a', null, 'c', 'd'])
})

test.each([
  'about',
  'texts',
  'texts.places',
  'texts.table',
  'vectors',
  'coarse',
  'lengths',
  'postings',
  'postings.places',
  'postings.table',
])('a damaged file of %s is told', async (name) => {
  const folder = await written(name)
  truncateSync(join(folder, name), 100)
  expect(() => openFlatReader(folder, 1)).toThrow(FlatError)
})
