/**
 * Inclusion and consistency proofs over a stored log, for any size that it has had. They read about a hundred hashes, however long the log is.
 * @see RFC 9162 sections 2.1.3.1 and 2.1.4.1; `proof-check.ts` has the checks
 */
import { StorageError } from '../../../../sdk/storage/errors.ts'
import type { LedgerHead, LedgerReader } from '../../../../sdk/storage/ledger.ts'
import { keptLevels, leafHash, nodeHash, rootOf } from './tree.ts'

/** What a proof reads. */
export type LogHashes = Pick<LedgerReader, 'hashes' | 'nodes'>

/** The tree over the current records of a log. All hashes are lowercase hex; all methods reject with StorageError `corrupt` if hashes are missing. */
interface LogTree {
  /** The root of the first `size` records. */
  root(size: number): Promise<string>
  /** PATH(index, D[size]): the hashes from a record to the root, its sibling first. @param index from 0, below `size` */
  inclusion(index: number, size: number): Promise<string[]>
  /**
   * PROOF(old_size, D[size]): shows that the tree of `size` begins with that of `old_size`. Empty if `old_size` is 0 or `size`.
   */
  consistency(old_size: number, size: number): Promise<string[]>
}

/** Stored hashes that one node of the next kept level covers; they are read together. */
const blockSize = 2 ** keptLevels

/** Records `from … to − 1`, counted from 0. */
type Range = readonly [from: number, to: number]

/** The largest power of two below `width`, which is 2 or more. */
function splitOf(width: number): number {
  let split = 1
  while (split * 2 < width) split *= 2
  return split
}

/** Roots of subtrees, each read or computed once. */
function subtrees(log: LogHashes): (range: Range) => Promise<Buffer> {
  const blocks = new Map<string, Promise<string[]>>()
  const roots = new Map<string, Promise<Buffer>>()
  const once = <T>(map: Map<string, Promise<T>>, key: string, make: () => Promise<T>): Promise<T> => {
    const found = map.get(key) ?? make()
    map.set(key, found)
    return found
  }
  const block = (level: number, index: number): Promise<string[]> =>
    once(blocks, `${level}/${index}`, () =>
      level === 0 ? log.hashes(index * blockSize + 1, blockSize) : log.nodes(level, index * blockSize, blockSize),
    )

  const perfect = async (level: number, index: number): Promise<Buffer> => {
    const above = level % keptLevels
    const base = level - above
    const width = 2 ** above
    const first = index * width
    const from = first % blockSize
    const stored = (await block(base, Math.floor(first / blockSize))).slice(from, from + width)
    if (stored.length < width)
      throw new StorageError('corrupt', `the Merkle tree lacks nodes of level ${base} from ${first} on`)
    let row = stored.map((hash) => (base === 0 ? leafHash(hash) : Buffer.from(hash, 'hex')))
    while (row.length > 1)
      row = Array.from({ length: row.length / 2 }, (_, at) => nodeHash(row[2 * at]!, row[2 * at + 1]!))
    return row[0]!
  }

  const root = async ([from, to]: Range): Promise<Buffer> => {
    const width = to - from
    let level = 0
    while (2 ** level < width) level++
    // Ranges come from splits at powers of two, so a perfect one starts at a multiple of its width.
    if (2 ** level === width) return once(roots, `${level}/${from}`, () => perfect(level, from / width))
    const middle = from + splitOf(width)
    return nodeHash(await root([from, middle]), await root([middle, to]))
  }
  return root
}

/** The tree for the proofs of one answer: it caches what it reads, and the log may grow meanwhile. */
export function logTree(log: LogHashes): LogTree {
  const root = subtrees(log)
  const hashesOf = async (ranges: readonly Range[]): Promise<string[]> => {
    const hashes: string[] = []
    for (const range of ranges) hashes.push((await root(range)).toString('hex'))
    return hashes
  }
  return {
    root: async (size) => (size === 0 ? rootOf([]) : (await root([0, size])).toString('hex')),

    async inclusion(index, size) {
      const siblings: Range[] = []
      let [from, to] = [0, size]
      while (to - from > 1) {
        const middle = from + splitOf(to - from)
        if (index < middle) {
          siblings.unshift([middle, to])
          to = middle
        } else {
          siblings.unshift([from, middle])
          from = middle
        }
      }
      return hashesOf(siblings)
    },

    async consistency(old_size, size) {
      if (old_size === 0 || old_size === size) return []
      const ranges: Range[] = []
      let [from, to] = [0, size]
      while (to !== old_size) {
        const middle = from + splitOf(to - from)
        if (old_size <= middle) {
          ranges.unshift([middle, to])
          to = middle
        } else {
          ranges.unshift([from, middle])
          from = middle
        }
      }
      // The caller knows the old root, so it is left out if it is one of the subtrees.
      if (from > 0) ranges.unshift([from, to])
      return hashesOf(ranges)
    },
  }
}

// A proof is checked before it is returned: an invalid one would look like a forgery. If it fails, stored hashes were changed.
const damaged = (what: string): StorageError =>
  new StorageError('corrupt', `the evidence log is damaged: ${what} can't be proved`)

/**
 * @param seq number of the record, from 1 to `size`
 * @param size at most the size of the log
 * @param signed the root that was signed for this size, if any
 * @throws StorageError `corrupt`
 */
export async function proveInclusion(log: LogHashes, seq: number, size: number, signed?: string) {
  const tree = logTree(log)
  const index = seq - 1
  const [record_hash] = await log.hashes(seq, 1)
  if (record_hash === undefined) throw damaged(`record ${seq}`)
  const leaf_hash = leafHash(record_hash).toString('hex')
  const hashes = await tree.inclusion(index, size)
  const root_hash = await tree.root(size)
  if (root_hash !== (signed ?? root_hash) || !verifyInclusion({ index, size, leaf_hash, root_hash, hashes }))
    throw damaged(`record ${seq}`)
  return { seq, index, size, record_hash, leaf_hash, root_hash, hashes }
}

/**
 * A changed node would be part of both roots, which would agree, so the larger root must also lead to the root of the head.
 * @param old_size at most `new_size`
 * @param new_size at most the size of the head
 * @throws StorageError `corrupt`
 */
export async function proveConsistency(
  log: LogHashes,
  old_size: number,
  new_size: number,
  head: Pick<LedgerHead, 'seq' | 'frontier'>,
) {
  const tree = logTree(log)
  const old_root = await tree.root(old_size)
  const new_root = await tree.root(new_size)
  const hashes = await tree.consistency(old_size, new_size)
  const onwards = {
    old_size: new_size,
    old_root: new_root,
    new_size: head.seq,
    new_root: rootOf(head.frontier),
    hashes: await tree.consistency(new_size, head.seq),
  }
  if (!verifyConsistency({ old_size, old_root, new_size, new_root, hashes }) || !verifyConsistency(onwards))
    throw damaged(`the way from ${old_size} to ${new_size} records`)
  return { old: old_size, new: new_size, old_root, new_root, hashes }
}

/**
 * An inclusion proof and its checkpoint as one text, for other tools.
 * @param index of the entry, from 0
 * @param hashes lowercase hex, the sibling of the leaf first
 * @param checkpoint signed note of the tree that the proof leads to
 * @see C2SP tlog-proof; `src/verify/proof.ts` reads it
 */
export function tlogProof(proof: { index: number; hashes: readonly string[]; checkpoint: string }): string {
  const path = proof.hashes.map((hash) => `${Buffer.from(hash, 'hex').toString('base64')}\n`).join('')
  return `c2sp.org/tlog-proof@v1\nindex ${proof.index}\n${path}\n${proof.checkpoint}`
}

// Checks inclusion and consistency proofs as an outsider does, from hashes only.

const isHash = (text: unknown): text is string => typeof text === 'string' && /^[0-9a-f]{64}$/.test(text)
const isSize = (size: number): boolean => Number.isSafeInteger(size) && size >= 0
const odd = (number: number): boolean => number % 2 === 1
/** A right shift; the language's operator is limited to 32 bits. */
const half = (number: number): number => Math.floor(number / 2)

/** Bytes of hashes; null unless each is 64 lower-case hexadecimal digits. */
const bytesOf = (hashes: readonly string[]): Buffer[] | null =>
  hashes.every(isHash) ? hashes.map((hash) => Buffer.from(hash, 'hex')) : null

/**
 * Whether the record with this leaf hash is number `index` (from 0) of the tree with this size and root. Hashes are lowercase hex.
 */
export function verifyInclusion(given: {
  index: number
  size: number
  leaf_hash: string
  root_hash: string
  hashes: readonly string[]
}): boolean {
  const { index, size } = given
  const path = bytesOf(given.hashes)
  if (!isSize(size) || !isSize(index) || index >= size || path === null || !isHash(given.leaf_hash)) return false
  let fn = index
  let sn = size - 1
  let r: Buffer = Buffer.from(given.leaf_hash, 'hex')
  for (const p of path) {
    if (sn === 0) return false
    if (odd(fn) || fn === sn) {
      r = nodeHash(p, r)
      while (!odd(fn) && fn !== 0) [fn, sn] = [half(fn), half(sn)]
    } else r = nodeHash(r, p)
    ;[fn, sn] = [half(fn), half(sn)]
  }
  return sn === 0 && r.toString('hex') === given.root_hash
}

/**
 * Whether the tree of `new_size` begins with all records of the tree of `old_size`, in their order. Hashes are lowercase hex. The empty
 * tree is the beginning of every tree, and every tree is the beginning of itself; neither case needs a hash.
 */
export function verifyConsistency(given: {
  old_size: number
  old_root: string
  new_size: number
  new_root: string
  hashes: readonly string[]
}): boolean {
  const { old_size: first, new_size: second, old_root, new_root } = given
  const path = bytesOf(given.hashes)
  if (!isSize(first) || !isSize(second) || first > second || path === null) return false
  if (!isHash(old_root) || !isHash(new_root)) return false
  if (first === 0 && old_root !== rootOf([])) return false
  if (second === 0 && new_root !== rootOf([])) return false
  if (first === second) return path.length === 0 && old_root === new_root
  if (first === 0) return path.length === 0
  if (path.length === 0) return false
  let power = 1
  while (power < first) power *= 2
  const [start, ...rest] = power === first ? [Buffer.from(old_root, 'hex'), ...path] : path
  let fn = first - 1
  let sn = second - 1
  while (odd(fn)) [fn, sn] = [half(fn), half(sn)]
  let fr: Buffer = start!
  let sr: Buffer = start!
  for (const c of rest) {
    if (sn === 0) return false
    if (odd(fn) || fn === sn) {
      fr = nodeHash(c, fr)
      sr = nodeHash(c, sr)
      while (!odd(fn) && fn !== 0) [fn, sn] = [half(fn), half(sn)]
    } else sr = nodeHash(sr, c)
    ;[fn, sn] = [half(fn), half(sn)]
  }
  return sn === 0 && fr.toString('hex') === old_root && sr.toString('hex') === new_root
}
