/** The bounds of a segment's rows: no product is above its own, and few are far from it. */
import { afterAll, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdtempSync, rmSync, truncateSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { random, unitVector } from '../../../sdk/storage/conformance/search/corpus.ts'
import { holds } from '../../../src/drivers/search/lancedb/bits.ts'
import { openCoarse, openCoarseWriter } from '../../../src/drivers/search/lancedb/coarse.ts'
import { dot } from '../../../src/drivers/search/lancedb/reader.ts'
import { FlatError } from '../../../src/drivers/search/lancedb/records.ts'
import { bitsWhere } from './segment-tools.ts'

setDefaultTimeout(60_000)

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

test('a bound is above the product and near it, for several questions at once, each with rows of its own', async () => {
  const coarse = openCoarse(await written(), count, dimensions)
  const sets = [
    null,
    bitsWhere(count, (row) => row % 3 === 0),
    bitsWhere(count, (row) => row > 4_200),
    bitsWhere(count, (row) => row === without || row === 31 || row === count - 1),
    bitsWhere(count, () => false),
  ]
  const found = await Promise.all(sets.map((passing, at) => coarse.bounds(vectorAt(at), passing)))
  for (const [at, passing] of sets.entries()) {
    const { rows, upper } = found[at]!
    const expected = Array.from({ length: count }, (_, row) => row).filter(
      (row) => passing === null || holds(passing, row),
    )
    expect([...(rows ?? expected)]).toEqual(expected)
    expect(upper).toHaveLength(expected.length)
    for (const [place, row] of expected.entries()) {
      const bound = upper[place]!
      if (row === without) expect(bound).toBeNaN()
      else {
        const product = dot(vectorAt(at), vectors, row * dimensions)
        if (bound < product || bound > product + 0.02) throw new Error(`${bound} is to bound ${product} of row ${row}`)
      }
    }
  }
  coarse.close()
})

test('a file that is cut off is told when it is opened, or to all who asked for what it lacks', async () => {
  const folder = await written()
  const coarse = openCoarse(folder, count, dimensions)
  truncateSync(join(folder, 'coarse'), 200_000)
  expect(() => openCoarse(folder, count, dimensions)).toThrow(FlatError)
  const asked = await Promise.allSettled([0, 1].map((row) => coarse.bounds(vectorAt(row), null)))
  for (const one of asked) expect(one).toMatchObject({ status: 'rejected', reason: expect.any(FlatError) })
  // Those whose rows are all there are still answered.
  const { upper } = await coarse.bounds(
    vectorAt(0),
    bitsWhere(count, (row) => row < 10),
  )
  expect(upper[0]).toBeGreaterThanOrEqual(1 - 1e-6)
  coarse.close()
})
