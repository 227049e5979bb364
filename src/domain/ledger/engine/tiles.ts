/**
 * The log as static files: tiles with 256 hashes of one level each, and bundles of the 256 entries below a tile of the lowest level.
 * @see C2SP tlog-tiles
 */
import { StorageError } from '../../../../sdk/storage/errors.ts'
import type { LogHashes } from './proof.ts'
import { leafHash } from './tree.ts'

/** Hashes in a full tile; a hash of the next level covers one tile. */
const fullWidth = 256
/** Levels of the binary tree in a tile. The lowest level of each tile is stored. */
const tileHeight = 8
const highestLevel = 63

/** A tile, or the bundle of entries under one of level 0. */
export interface Tile {
  level: number | 'entries'
  index: number
  /** Hashes in it; below 256 for a partial one. */
  width: number
}

/** Number of hashes of a level in a tree of this size. */
const hashesOf = (level: Tile['level'], size: number): number =>
  level === 'entries' ? size : Math.floor(size / fullWidth ** level)

/** Groups of three digits, all but the last one preceded by an `x`: `x001/x234/067`. */
function groups(index: number): string {
  const digits = String(index)
  const padded = digits.padStart(Math.ceil(digits.length / 3) * 3, '0')
  return padded.replace(/\d{3}(?=\d)/g, 'x$&/')
}

/** The path of a tile below the prefix of the log. */
export const tilePath = ({ level, index, width }: Tile): string =>
  `tile/${level}/${groups(index)}${width === fullWidth ? '' : `.p/${width}`}`

/** The tile of a path; null for any other text, including other spellings of a path. */
export function parseTilePath(path: string): Tile | null {
  const [, level = '', digits = '', width] =
    /^tile\/(entries|\d{1,2})\/((?:x\d{3}\/){0,4}\d{3})(?:\.p\/(\d{1,3}))?$/.exec(path) ?? []
  const tile: Tile = {
    level: level === 'entries' ? level : Number(level),
    index: Number(digits.replace(/[x/]/g, '')),
    width: width === undefined ? fullWidth : Number(width),
  }
  const known = level !== '' && (tile.level === 'entries' || tile.level <= highestLevel)
  const partial = width === undefined || (tile.width > 0 && tile.width < fullWidth)
  return known && partial && tilePath(tile) === path ? tile : null
}

/**
 * Whether a tree of this size has all hashes of the tile. This includes partial tiles of smaller trees, whose checkpoints were published
 * too.
 */
export const isCovered = ({ level, index, width }: Tile, size: number): boolean =>
  index * fullWidth + width <= hashesOf(level, size)

/** Every tile and bundle of a tree, the bundles first, then level by level. */
export function* tilesOf(size: number): Generator<Tile> {
  const row = function* (level: Tile['level']): Generator<Tile> {
    const hashes = hashesOf(level, size)
    for (let index = 0; index * fullWidth < hashes; index++)
      yield { level, index, width: Math.min(fullWidth, hashes - index * fullWidth) }
  }
  yield* row('entries')
  for (let level = 0; hashesOf(level, size) > 0; level++) yield* row(level)
}

/** The concatenated hashes of a tile, or the entries of a bundle, each preceded by its length in two bytes. @throws StorageError `corrupt` */
export async function tileBytes(log: LogHashes, { level, index, width }: Tile): Promise<Uint8Array<ArrayBuffer>> {
  const first = index * fullWidth
  const isLow = level === 'entries' || level === 0
  const found = isLow ? await log.hashes(first + 1, width) : await log.nodes(level * tileHeight, first, width)
  if (found.length < width) throw new StorageError('corrupt', `the log has no ${tilePath({ level, index, width })}`)
  if (level === 'entries') return Uint8Array.from(Buffer.from(found.map((entry) => `0020${entry}`).join(''), 'hex'))
  return Uint8Array.from(Buffer.concat(found.map((hash) => (level === 0 ? leafHash(hash) : Buffer.from(hash, 'hex')))))
}
