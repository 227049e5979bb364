/** The log's proofs against RFC 9162's own definitions, and the checks against proofs that were tampered with. */
import { describe, expect, test } from 'bun:test'
import { isStorageError } from '../../../../sdk/storage/errors.ts'
import {
  type LogHashes,
  logTree,
  verifyConsistency,
  verifyInclusion,
} from '../../../../src/domain/ledger/engine/proof.ts'
import { grow, keptLevels, leafHash, rootOf } from '../../../../src/domain/ledger/engine/tree.ts'
import { naiveTree, recordHashes } from '../../../support/evidence/naive-tree.ts'
import * as fc from '../../../support/property.ts'
import { sharedText } from '../../../support/shared.ts'

const most = 300

/** The log as a driver keeps it: record hashes, and the nodes of kept levels. */
function logOf(records: readonly string[]): LogHashes & { reads: number; hashesRead: number } {
  const { nodes } = grow([], 0, records)
  const stored = new Map(nodes.map(({ level, index, hash }) => [`${level}/${index}`, hash]))
  const log = {
    reads: 0,
    hashesRead: 0,
    async hashes(seq: number, limit: number) {
      const found = records.slice(seq - 1, seq - 1 + limit)
      log.reads++
      log.hashesRead += found.length
      return found
    },
    async nodes(level: number, index: number, limit: number) {
      const found: string[] = []
      for (let at = index; at < index + limit && stored.has(`${level}/${at}`); at++)
        found.push(stored.get(`${level}/${at}`)!)
      log.reads++
      log.hashesRead += found.length
      return found
    },
  }
  return log
}

const records = recordHashes(most)
const naive = naiveTree(records)
const log = logOf(records)

/** One for all pairs: it keeps what it computed, which makes them quick. */
const tree = logTree(log)

describe('against a naive tree', () => {
  test('roots of every size, grown and recomputed', async () => {
    for (let size = 0; size <= most; size++) {
      expect(await logTree(log).root(size)).toBe(naive.root(size))
      expect(rootOf(grow([], 0, records.slice(0, size)).frontier)).toBe(naive.root(size))
    }
  })

  test('every index of every size', async () => {
    for (let size = 1; size <= most; size++) {
      const root_hash = naive.root(size)
      for (let index = 0; index < size; index++) {
        const hashes = await tree.inclusion(index, size)
        const known = naive.inclusion(index, size)
        const leaf_hash = leafHash(records[index]!).toString('hex')
        if (!Bun.deepEquals(hashes, known)) throw new Error(`the path of ${index} in ${size} differs`)
        if (!verifyInclusion({ index, size, leaf_hash, root_hash, hashes }))
          throw new Error(`${index} in ${size} fails`)
      }
    }
  }, 120_000)

  test('every pair of sizes', async () => {
    for (let new_size = 0; new_size <= most; new_size++) {
      for (let old_size = 0; old_size <= new_size; old_size++) {
        const hashes = await tree.consistency(old_size, new_size)
        const sizes = { old_size, new_size, old_root: naive.root(old_size), new_root: naive.root(new_size) }
        if (!Bun.deepEquals(hashes, naive.consistency(old_size, new_size)))
          throw new Error(`the proof from ${old_size} to ${new_size} differs`)
        if (!verifyConsistency({ ...sizes, hashes })) throw new Error(`from ${old_size} to ${new_size} fails`)
      }
    }
  }, 120_000)

  test('a log of more than three kept levels, now and as it was', async () => {
    const count = 2 ** (3 * keptLevels) + 77
    const many = recordHashes(count)
    const known = naiveTree(many)
    const long = logOf(many)
    for (const size of [count, count - 1, 4_096, 4_095, 4_097, 257, 130, 65, 64, 63, 17, 16]) {
      for (const index of [0, 1, 62, Math.floor(size / 2), size - 2, size - 1])
        expect(await logTree(long).inclusion(index, size)).toEqual(known.inclusion(index, size))
      for (const old_size of [1, 63, 64, 65, size - 1].filter((one) => one <= size))
        expect(await logTree(long).consistency(old_size, size)).toEqual(known.consistency(old_size, size))
      expect(await logTree(long).root(size)).toBe(known.root(size))
    }
  })
})

test('a proof reads stored blocks, never the whole log', async () => {
  const count = 300_000
  const long = logOf(recordHashes(count))
  await logTree(long).inclusion(123_456, count)
  // Levels 0, 4, 8, 12 and 16, at the record and at the end of the log.
  expect(long.reads).toBeLessThanOrEqual(10)
  expect(long.hashesRead).toBeLessThanOrEqual(10 * 16)
  long.reads = 0
  long.hashesRead = 0
  await logTree(long).consistency(99_999, count - 5)
  expect(long.reads).toBeLessThanOrEqual(15)
  expect(long.hashesRead).toBeLessThanOrEqual(15 * 16)
})

test('a log that lacks hashes says so', async () => {
  const short: LogHashes = { hashes: log.hashes, nodes: async () => [] }
  expect(
    isStorageError(
      await logTree(short)
        .inclusion(5, 200)
        .catch((error) => error),
      'corrupt',
    ),
  ).toBe(true)
  expect(
    isStorageError(
      await logTree(log)
        .root(most + 1)
        .catch((error) => error),
      'corrupt',
    ),
  ).toBe(true)
})

const vectors = sharedText('spec/vectors.json')
test.skipIf(vectors === null)('the roots of the shared vectors', async () => {
  const { records: given, merkle_roots } = JSON.parse(vectors!).evidence_chain
  const hashes: string[] = given.map(({ hash }: { hash: string }) => hash)
  const vectorLog = logOf(hashes)
  for (const [size, root_hash] of (merkle_roots as string[]).entries()) {
    expect(await logTree(vectorLog).root(size)).toBe(root_hash)
    for (let index = 0; index < size; index++) {
      const leaf_hash = leafHash(hashes[index]!).toString('hex')
      const path = await logTree(vectorLog).inclusion(index, size)
      expect(verifyInclusion({ index, size, leaf_hash, root_hash, hashes: path })).toBe(true)
    }
    for (let old_size = 0; old_size <= size; old_size++) {
      const old_root = merkle_roots[old_size]
      const path = await logTree(vectorLog).consistency(old_size, size)
      expect(verifyConsistency({ old_size, old_root, new_size: size, new_root: root_hash, hashes: path })).toBe(true)
    }
  }
})

/** Two numbers from 0 to `most`, the smaller one first. */
const sizes = fc.tuple(fc.nat(most), fc.nat(most)).map(([a, b]) => (a < b ? ([a, b] as const) : ([b, a] as const)))
const stray = fc.uint8Array({ minLength: 32, maxLength: 32 }).map((bytes) => Buffer.from(bytes).toString('hex'))

/** A path that is not the one that was given: a bit flipped, a hash more, less, or moved, or what is no hash. */
const spoiled = (hashes: string[]): fc.Arbitrary<string[]> => {
  const more = fc.tuple(fc.nat(hashes.length), stray).map(([at, hash]) => hashes.toSpliced(at, 0, hash))
  if (hashes.length === 0) return more
  const place = fc.nat(hashes.length - 1)
  const flip = fc.tuple(place, fc.nat(255)).map(([at, bit]) => {
    const bytes = Buffer.from(hashes[at]!, 'hex')
    bytes[bit >> 3]! ^= 1 << (bit & 7)
    return hashes.with(at, bytes.toString('hex'))
  })
  const less = place.map((at) => hashes.toSpliced(at, 1))
  const noHash = fc
    .tuple(place, fc.constantFrom('', 'zz', 'A'.repeat(64), `${'a'.repeat(64)}a`))
    .map(([at, text]) => hashes.with(at, text))
  const swap = fc
    .tuple(place, place)
    .filter(([a, b]) => hashes[a] !== hashes[b])
    .map(([a, b]) => hashes.with(a, hashes[b]!).with(b, hashes[a]!))
  return fc.oneof(more, flip, less, noHash, ...(hashes.length > 1 ? [swap] : []))
}

describe('a proof that is not the right one is refused', () => {
  test('inclusion', async () => {
    await fc.assert(
      fc.asyncProperty(
        sizes
          .filter(([, size]) => size > 0)
          .chain(([at, size]) => {
            const index = Math.min(at, size - 1)
            return fc.tuple(
              fc.constant(index),
              fc.constant(size),
              spoiled(naive.inclusion(index, size)),
              fc.nat(most - 1),
              stray,
            )
          }),
        async ([index, size, wrong, other, hash]) => {
          const right = { index, size, leaf_hash: naive.leaf(index), root_hash: naive.root(size) }
          const hashes = naive.inclusion(index, size)
          expect(verifyInclusion({ ...right, hashes })).toBe(true)
          expect(verifyInclusion({ ...right, hashes: wrong })).toBe(false)
          expect(verifyInclusion({ ...right, hashes, leaf_hash: hash })).toBe(false)
          expect(verifyInclusion({ ...right, hashes, root_hash: hash })).toBe(false)
          if (other !== index) expect(verifyInclusion({ ...right, hashes, leaf_hash: naive.leaf(other) })).toBe(false)
          if (other !== index) expect(verifyInclusion({ ...right, hashes, index: other })).toBe(false)
        },
      ),
      { numRuns: 300 },
    )
  })

  test('consistency', async () => {
    await fc.assert(
      fc.asyncProperty(
        sizes.chain(([old_size, new_size]) =>
          fc.tuple(fc.constant(old_size), fc.constant(new_size), spoiled(naive.consistency(old_size, new_size)), stray),
        ),
        async ([old_size, new_size, wrong, hash]) => {
          const right = { old_size, new_size, old_root: naive.root(old_size), new_root: naive.root(new_size) }
          const hashes = naive.consistency(old_size, new_size)
          expect(verifyConsistency({ ...right, hashes })).toBe(true)
          expect(verifyConsistency({ ...right, hashes: wrong })).toBe(false)
          expect(verifyConsistency({ ...right, hashes, old_root: hash })).toBe(false)
          // From nothing everything follows; only the root of nothing is known.
          if (old_size > 0) expect(verifyConsistency({ ...right, hashes, new_root: hash })).toBe(false)
          if (old_size < new_size)
            expect(verifyConsistency({ ...right, hashes, old_size: new_size, new_size: old_size })).toBe(false)
        },
      ),
      { numRuns: 300 },
    )
  })

  test('another history of the same sizes', async () => {
    const forked = naiveTree([...records.slice(0, 100), ...recordHashes(most, ' forged').slice(100)])
    for (const [old_size, new_size] of [
      [150, 200],
      [128, 256],
      [101, 102],
    ] as const) {
      const hashes = forked.consistency(old_size, new_size)
      const claim = { old_size, new_size, old_root: naive.root(old_size), hashes }
      expect(verifyConsistency({ ...claim, new_root: forked.root(new_size) })).toBe(false)
      expect(verifyConsistency({ ...claim, new_root: naive.root(new_size) })).toBe(false)
    }
  })

  test('sizes that are none', () => {
    const empty = naive.root(0)
    const bad = [-1, 0.5, Number.NaN, 2 ** 53]
    for (const size of bad) {
      expect(verifyConsistency({ old_size: 0, old_root: empty, new_size: size, new_root: empty, hashes: [] })).toBe(
        false,
      )
      expect(verifyConsistency({ old_size: size, old_root: empty, new_size: 5, new_root: empty, hashes: [] })).toBe(
        false,
      )
      const leaf = naive.leaf(0)
      expect(verifyInclusion({ index: size, size: 1, leaf_hash: leaf, root_hash: leaf, hashes: [] })).toBe(false)
      expect(verifyInclusion({ index: 0, size, leaf_hash: leaf, root_hash: leaf, hashes: [] })).toBe(false)
    }
    expect(
      verifyConsistency({ old_size: 0, old_root: naive.root(1), new_size: 5, new_root: naive.root(5), hashes: [] }),
    ).toBe(false)
    expect(verifyConsistency({ old_size: 0, old_root: empty, new_size: 0, new_root: naive.root(1), hashes: [] })).toBe(
      false,
    )
    expect(verifyInclusion({ index: 0, size: 0, leaf_hash: empty, root_hash: empty, hashes: [] })).toBe(false)
  })
})
