/** The bounds of a segment's rows: no product is above its own, and few are far from it. */
import { afterAll, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdtempSync, rmSync, truncateSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { random, unitVector } from '../../../sdk/storage/conformance/search/corpus.ts'
import { holds } from '../../../src/drivers/search/lancedb/bits.ts'
import { openCoarse, openCoarseWriter } from '../../../src/drivers/search/lancedb/coarse.ts'
import { type Bounds, keepRows } from '../../../src/drivers/search/lancedb/kept.ts'
import { dot } from '../../../src/drivers/search/lancedb/reader.ts'
import { FlatError } from '../../../src/drivers/search/lancedb/records.ts'
import { bitsWhere } from './segment-tools.ts'

setDefaultTimeout(120_000)

const root = mkdtempSync(join(tmpdir(), 'cstp-coarse-'))
afterAll(() => rmSync(root, { recursive: true, force: true }))

const [count, dimensions, without] = [5_000, 40, 7]
const vectors = new Float32Array(count * dimensions)
for (let row = 0; row < count; row++) vectors.set(unitVector(random(row + 1), dimensions), row * dimensions)
vectors.fill(Number.NaN, without * dimensions, (without + 1) * dimensions)
const vectorAt = (row: number) => vectors.slice(row * dimensions, (row + 1) * dimensions)

async function written(): Promise<string> {
  const folder = mkdtempSync(join(root, 'segment-'))
  const writer = await openCoarseWriter(folder, dimensions)
  for (let row = 0; row < count; row += 700)
    await writer.add(vectors.subarray(row * dimensions, (row + 700) * dimensions))
  await writer.close()
  return folder
}

/** Asserts that there is a bound of each of these rows, above its product with a vector and near it. */
function expectBounds({ rows, upper }: Bounds, vector: Float32Array, expected: readonly number[]): void {
  expect([...(rows ?? expected)]).toEqual([...expected])
  expect(upper).toHaveLength(expected.length)
  for (const [place, row] of expected.entries()) {
    const bound = upper[place]!
    if (row === without) expect(bound).toBeNaN()
    else {
      const product = dot(vector, vectors, row * dimensions)
      if (bound < product || bound > product + 0.02) throw new Error(`${bound} is to bound ${product} of row ${row}`)
    }
  }
}

const nothing = () => {}

test('a bound is above the product and near it, for several questions at once, each with rows of its own', async () => {
  const coarse = openCoarse(await written(), count, dimensions)
  const sets = [
    null,
    bitsWhere(count, (row) => row % 3 === 0),
    bitsWhere(count, (row) => row > 4_200),
    bitsWhere(count, (row) => row === without || row === 31 || row === count - 1),
    bitsWhere(count, () => false),
  ]
  const found = await Promise.all(sets.map((passing, at) => coarse.among(passing).bounds(vectorAt(at))))
  for (const [at, passing] of sets.entries()) {
    const expected = Array.from({ length: count }, (_, row) => row).filter(
      (row) => passing === null || holds(passing, row),
    )
    expectBounds(found[at]!, vectorAt(at), expected)
  }
  coarse.close()
})

test('rows that are kept have the same bounds, for several questions at once, while others are read', async () => {
  const coarse = openCoarse(await written(), count, dimensions)
  const passing = Array.from({ length: count }, (_, row) => row).filter((row) => row % 2 === 1 || row > 4_000)
  const [kept, read] = await Promise.all([
    coarse.keep(Int32Array.from(passing), nothing),
    coarse.among(bitsWhere(count, (row) => row === 3)).bounds(vectorAt(9)),
  ])
  expectBounds(read, vectorAt(9), [3])
  // More rows for so many questions than are looked at in one go.
  const questions = Array.from({ length: 40 }, (_, at) => vectorAt(at === without ? 0 : at))
  const found = await Promise.all(questions.map((vector) => kept!.bounds(vector)))
  for (const [at, bounds] of found.entries()) expectBounds(bounds, questions[at]!, passing)
  kept!.drop()
  const none = (await coarse.keep(new Int32Array(0), nothing))!
  expect((await none.bounds(vectorAt(0))).upper).toHaveLength(0)
  coarse.close()
})

test('rows that would take too much memory are not kept; those that were not asked for longest make room', () => {
  const quarter = Int32Array.from({ length: 1_000 }, (_, row) => row)
  const gone: string[] = []
  const keep = (name: string, rowBytes = 16_000) => keepRows(quarter, rowBytes, () => void gone.push(name))
  expect(keep('more', 64_001)).toBeNull()
  const all = ['a', 'b', 'c', 'd'].map((name) => keep(name)!)
  expect(gone).toEqual([])
  expect(all[0]!.use()).toBe(true)
  const larger = keep('e', 20_000)!
  expect(gone).toEqual(['b', 'c'])
  expect(all.map((one) => one.use())).toEqual([true, false, false, true])
  for (const one of [...all, larger]) one.drop()
  expect(gone).toEqual(['b', 'c', 'a', 'd', 'e'])
})

test('a file that is cut off is told when it is opened, or to all who asked for what it lacks', async () => {
  const folder = await written()
  const coarse = openCoarse(folder, count, dimensions)
  truncateSync(join(folder, 'coarse'), 200_000)
  expect(() => openCoarse(folder, count, dimensions)).toThrow(FlatError)
  const asked = await Promise.allSettled([0, 1].map((row) => coarse.among(null).bounds(vectorAt(row))))
  for (const one of asked) expect(one).toMatchObject({ status: 'rejected', reason: expect.any(FlatError) })
  // What was reserved for rows that can't be kept is left to others.
  let left = 0
  await expect(coarse.keep(Int32Array.of(4_999), () => void left++)).rejects.toThrow(FlatError)
  expect(left).toBe(1)
  // Those whose rows are all there are still answered.
  const few = bitsWhere(count, (row) => row < 10)
  const { upper } = await coarse.among(few).bounds(vectorAt(0))
  expect(upper[0]).toBeGreaterThanOrEqual(1 - 1e-6)
  coarse.close()
})
