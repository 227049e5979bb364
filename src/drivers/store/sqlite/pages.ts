/**
 * Finds the bytes of a database file that no row uses and that are not zero: what is left of rows that were deleted or moved.
 * The format is described in https://www.sqlite.org/fileformat2.html.
 */

export interface Pages {
  /** Bytes of a page, and those of it that SQLite uses. */
  size: number
  usable: number
  count: number
  /** Every so many pages, from the second on, one holds pointers only; 0 without `auto_vacuum`. */
  mapped: number
  /** The bytes of a page, numbered from 1. */
  read(number: number): Buffer
}

/** Bytes of a page, from the first up to the last, excluding it. */
export interface Range {
  page: number
  from: number
  to: number
}

const kinds = { innerIndex: 0x02, innerTable: 0x05, leafIndex: 0x0a, leafTable: 0x0d }
const firstHeader = 100
/** A page of an overflow chain begins with the number of the next one; up to this number it can't be taken for a page of a tree. */
export const mostPages = 0x0200_0000

const zeros = Buffer.alloc(65_536)

/** @param first the first page of the file, or its beginning */
export function shapeOf(first: Buffer, bytes: number): Omit<Pages, 'read'> {
  const given = first.readUInt16BE(16)
  const size = given === 1 ? 65_536 : given
  const usable = size - first.readUInt8(20)
  const mapped = first.readUInt32BE(52) === 0 ? 0 : Math.floor(usable / 5) + 1
  return { size, usable, mapped, count: Math.floor(bytes / size) }
}

function* ifDirty(page: number, bytes: Buffer, from: number, to: number): Generator<Range> {
  if (from < to && !bytes.subarray(from, to).equals(zeros.subarray(0, to - from))) yield { page, from, to }
}

/** Pages in the list of free ones, each with the number of its bytes that the list itself uses. */
export function freePages({ read, count }: Pages): Map<number, number> {
  const found = new Map<number, number>()
  for (let trunk = read(1).readUInt32BE(32); trunk > 1 && trunk <= count && !found.has(trunk); ) {
    const bytes = read(trunk)
    const leaves = Math.min(bytes.readUInt32BE(4), bytes.length / 4 - 2)
    found.set(trunk, 8 + 4 * leaves)
    for (let at = 0; at < leaves; at++) found.set(bytes.readUInt32BE(8 + 4 * at), 0)
    trunk = bytes.readUInt32BE(0)
  }
  return found
}

/** A number of one to nine bytes, and where the next value begins. */
function variable(bytes: Buffer, at: number): [value: number, next: number] {
  let value = 0
  for (let length = 1; length < 9; length++) {
    const byte = bytes[at++] ?? 0
    value = value * 128 + (byte & 0x7f)
    if (byte < 0x80) return [value, at]
  }
  return [value * 256 + (bytes[at] ?? 0), at + 1]
}

/** The bytes of a payload that a page of this kind holds itself. */
function localOf(kind: number, payload: number, usable: number): number {
  const most = kind === kinds.leafTable ? usable - 35 : Math.floor(((usable - 12) * 64) / 255) - 23
  if (payload <= most) return payload
  const least = Math.floor(((usable - 12) * 32) / 255) - 23
  const fitting = least + ((payload - least) % (usable - 4))
  return fitting <= most ? fitting : least
}

/** The rest of the last page in the overflow chain of the value at `at`. */
function* tail({ usable, read, count }: Pages, kind: number, bytes: Buffer, cell: number): Generator<Range> {
  const [payload, after] = variable(bytes, kind === kinds.innerIndex ? cell + 4 : cell)
  const at = kind === kinds.leafTable ? variable(bytes, after)[1] : after
  const local = localOf(kind, payload, usable)
  const last = (payload - local) % (usable - 4)
  if (local === payload || last === 0 || at + local + 4 > usable) return
  let page = bytes.readUInt32BE(at + local)
  let left = Math.ceil((payload - local) / (usable - 4))
  // No chain has more pages than the file. One of a page that changed while it was read may be a circle.
  for (; left <= count && page > 1 && page <= count; left--) {
    const chained = read(page)
    if (left === 1) return yield* ifDirty(page, chained, 4 + last, usable)
    page = chained.readUInt32BE(0)
  }
}

/**
 * The ranges of a page, and of the overflow chains that begin in it, that are not zero although nothing uses them. A page that changes while
 * it is read may yield anything: look again while nobody can write.
 * @param free see {@link freePages}
 */
export function* remainsOf(pages: Pages, free: ReadonlyMap<number, number>, page: number): Generator<Range> {
  if (pages.mapped > 0 && (page - 2) % pages.mapped === 0) return
  const bytes = pages.read(page)
  const used = free.get(page)
  if (used !== undefined) return yield* ifDirty(page, bytes, used, pages.usable)
  const header = page === 1 ? firstHeader : 0
  const kind = bytes[header]!
  const isInner = kind === kinds.innerIndex || kind === kinds.innerTable
  if (!isInner && kind !== kinds.leafIndex && kind !== kinds.leafTable) return
  const list = header + (isInner ? 12 : 8)
  const cells = bytes.readUInt16BE(header + 3)
  const content = bytes.readUInt16BE(header + 5) || 65_536
  const end = list + 2 * cells
  if (end > content || content > pages.usable) return
  yield* ifDirty(page, bytes, end, content)
  for (let at = bytes.readUInt16BE(header + 1); at >= content && at + 4 <= pages.usable; ) {
    const [next, length] = [bytes.readUInt16BE(at), bytes.readUInt16BE(at + 2)]
    if (at + length > pages.usable) return
    yield* ifDirty(page, bytes, at + 4, at + length)
    // They are in ascending order, so that this ends.
    if (next <= at) break
    at = next
  }
  if (kind === kinds.innerTable) return
  for (let at = list; at < end; at += 2) {
    const cell = bytes.readUInt16BE(at)
    if (cell >= content && cell + 4 < pages.usable) yield* tail(pages, kind, bytes, cell)
  }
}
