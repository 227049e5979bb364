/** Tiles: their paths, and their bytes compared with the definition over a tree that is computed naively. */
import { expect, test } from 'bun:test'
import type { LogHashes } from '../../../../src/domain/ledger/engine/proof.ts'
import {
  isCovered,
  parseTilePath,
  type Tile,
  tileBytes,
  tilePath,
  tilesOf,
} from '../../../../src/domain/ledger/engine/tiles.ts'
import { grow } from '../../../../src/domain/ledger/engine/tree.ts'
import { naiveTree, recordHashes } from '../../../support/evidence/naive-tree.ts'
import * as fc from '../../../support/property.ts'

/** What a store keeps of a log with these entries. */
function keptOf(entries: readonly string[]): LogHashes {
  const kept = new Map(grow([], 0, entries).nodes.map(({ level, index, hash }) => [`${level}/${index}`, hash]))
  return {
    hashes: async (seq, limit) => entries.slice(seq - 1, seq - 1 + limit),
    nodes: async (level, index, limit) =>
      Array.from({ length: limit }, (_, at) => kept.get(`${level}/${index + at}`)!).filter(Boolean),
  }
}

const most = 66_000
const entries = recordHashes(most)
const log = keptOf(entries)

test('a tile is the hashes of its subtrees, at every level', async () => {
  const tree = naiveTree(entries)
  const seen = new Set<string>()
  for (const size of [1, 2, 255, 256, 257, 300, 511, 512, 65_535, 65_536, 65_537, 65_792, most]) {
    for (const tile of tilesOf(size)) {
      if (tile.level === 'entries' || seen.has(tilePath(tile))) continue
      seen.add(tilePath(tile))
      const span = 256 ** tile.level
      const subtree = (at: number) => tree.range((tile.index * 256 + at) * span, (tile.index * 256 + at + 1) * span)
      const expected = Array.from({ length: tile.width }, (_, at) => subtree(at)).join('')
      expect(Buffer.from(await tileBytes(log, tile)).toString('hex')).toBe(expected)
    }
  }
  expect([...seen].filter((path) => path.startsWith('tile/2'))).toEqual(['tile/2/000.p/1'])
})

test('a bundle is the commitments behind their lengths', async () => {
  const bytes = Buffer.from(await tileBytes(log, { level: 'entries', index: 1, width: 44 }))
  expect(bytes.length).toBe(44 * 34)
  for (let at = 0; at < 44; at++) {
    expect(bytes.readUInt16BE(at * 34)).toBe(32)
    expect(bytes.toString('hex', at * 34 + 2, at * 34 + 34)).toBe(entries[256 + at]!)
  }
})

test('a log that lacks hashes gives no shorter tile', async () => {
  const short: LogHashes = { hashes: async () => entries.slice(0, 3), nodes: async () => [] }
  for (const level of [0, 1, 'entries'] as const)
    await expect(tileBytes(short, { level, index: 0, width: 4 })).rejects.toThrow('the log has no tile/')
})

test('the example of the specification: the tiles of a tree of size 70000, and of 256', () => {
  const count = (size: number) =>
    Object.fromEntries(
      Object.entries(Object.groupBy([...tilesOf(size)], ({ level }) => level)).map(([level, tiles]) => [
        level,
        [tiles!.filter(({ width }) => width === 256).length, tiles!.find(({ width }) => width < 256)?.width ?? 0],
      ]),
    )
  expect(count(70_000)).toEqual({ entries: [273, 112], 0: [273, 112], 1: [1, 17], 2: [0, 1] })
  expect(count(256)).toEqual({ entries: [1, 0], 0: [1, 0], 1: [0, 1] })
  expect(count(0)).toEqual({})
})

const anyTile: fc.Arbitrary<Tile> = fc.record({
  level: fc.oneof(fc.constant('entries' as const), fc.integer({ min: 0, max: 63 })),
  index: fc.oneof(fc.integer({ min: 0, max: 2_000 }), fc.integer({ min: 0, max: 999_999_999_999_999 })),
  width: fc.integer({ min: 1, max: 256 }),
})

test('a path names one tile, and a tile has one path', () => {
  fc.assert(fc.property(anyTile, (tile) => expect(parseTilePath(tilePath(tile))).toEqual(tile)))
  expect(tilePath({ level: 0, index: 1_234_067, width: 256 })).toBe('tile/0/x001/x234/067')
  expect(tilePath({ level: 'entries', index: 5, width: 3 })).toBe('tile/entries/005.p/3')
})

test.each([
  '',
  'tile/0/0',
  'tile/0/0000',
  'tile/00/000',
  'tile/64/000',
  'tile/-1/000',
  'tile/0/x000/001',
  'tile/0/001/x002',
  'tile/0/000.p/0',
  'tile/0/000.p/256',
  'tile/0/000.p/01',
  'tile/0/000.p/',
  'tile/0/000/',
  'tile/0/../0/000',
  'tile/0/000?x',
  '/tile/0/000',
  'tile/8/0/000',
  'tile/data/000',
  'tile/0/x999/x999/x999/x999/x999/999',
])('%j names no tile', (path) => expect(parseTilePath(path)).toBeNull())

test('what a tree covers is what its tiles and those of smaller trees hold', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 70_000 }), fc.integer({ min: 0, max: 70_000 }), (one, other) => {
      const [small, large] = [Math.min(one, other), Math.max(one, other)]
      for (const tile of tilesOf(small)) expect(isCovered(tile, large)).toBe(true)
      for (const tile of tilesOf(large)) {
        expect(isCovered(tile, large)).toBe(true)
        const next = { ...tile, width: tile.width + 1 }
        if (tile.width < 256) expect(isCovered(next, large)).toBe(false)
      }
    }),
    { numRuns: 20 },
  )
})
