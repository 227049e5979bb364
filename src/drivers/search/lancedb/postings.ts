/**
 * Which rows of a segment hold a word, and how often: what is counted and ranked by words. LanceDB counts by scoring all of them, which took
 * 60 ms for 100 000, and reads a list of its own into memory before it ranks. A record of a word begins with the number of its rows. These
 * follow in ascending order, each as the distance to the one before, doubled, plus one if its frequency follows, as it is not 1. Each number
 * is in as many groups of 7 bits as it takes.
 */
import { readSync } from 'node:fs'
import { open, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { enlarged } from '../../../core/enlarged.ts'
import { type Bits, holds, keepSets, noBits, put, unite } from './bits.ts'
import { bestRows } from './ranking.ts'
import type { Weighing } from './reader.ts'
import { bodyOf, type Keyed, openRecords, openRecordWriter } from './records.ts'

const name = 'postings'
/** Bytes written at once: all postings of a million rows would be in memory three times, which takes 600 MB. */
const WRITTEN = 4_000_000
/** Bytes collected in memory. */
const HELD = 32_000_000
/** Shorter lists stay in memory. */
const SHORT = 256
/** Lists of at least so many bytes for each row are those of frequent words: the sets of their rows, which are an eighth, are kept, so many bytes of them. */
const LONG = 1 / 8
const KEPT = 4_000_000

interface Posting {
  bytes: Uint8Array
  size: number
  rows: number
  last: number
  /** What was put out of memory: where each part begins, and its size. */
  parts: number[]
}

function push(posting: Posting, value: number): void {
  let rest = value
  for (; rest > 127; rest >>>= 7) posting.bytes[posting.size++] = (rest & 127) | 128
  posting.bytes[posting.size++] = rest
}

/** Lists that were put out of memory, in a file that goes when they are written where they belong. */
async function openParts(path: string) {
  const file = await open(path, 'w+')
  let end = 0
  return {
    /** Moves the collected bytes of these words to the file. */
    async take(words: Iterable<Posting>): Promise<void> {
      let some: Uint8Array[] = []
      let collected = 0
      const flush = async () => {
        await file.appendFile(Buffer.concat(some))
        some = []
        collected = 0
      }
      for (const posting of words) {
        if (posting.size < SHORT) continue
        some.push(posting.bytes.subarray(0, posting.size))
        posting.parts.push(end, posting.size)
        end += posting.size
        collected += posting.size
        posting.bytes = new Uint8Array(SHORT)
        posting.size = 0
        if (collected >= WRITTEN) await flush()
      }
      await flush()
    },
    /** All bytes of a word, in their original order, after a header. */
    read(head: Uint8Array, { parts, bytes, size }: Posting): Buffer {
      const taken = parts.reduce((sum, part, at) => sum + (at % 2 === 1 ? part : 0), 0)
      const all = Buffer.allocUnsafeSlow(head.length + taken + size)
      all.set(head)
      let filled = head.length
      for (let at = 0; at < parts.length; at += 2) filled += readSync(file.fd, all, filled, parts[at + 1]!, parts[at]!)
      all.set(bytes.subarray(0, size), filled)
      return all
    },
    async close(): Promise<void> {
      await file.close()
      await rm(path)
    },
  }
}

/**
 * Collects them: about a byte for each different word of each row.
 * @param folder into which they will be written
 */
export async function collectPostings(folder: string, held = HELD) {
  const words = new Map<string, Posting>()
  const parts = await openParts(join(folder, `${name}.parts`))
  let collected = 0

  function add(word: string, row: number, frequency: number): void {
    let posting = words.get(word)
    if (posting === undefined) {
      posting = { bytes: new Uint8Array(4), size: 0, rows: 0, last: 0, parts: [] }
      words.set(word, posting)
    }
    const { bytes, size } = posting
    if (size + 10 > bytes.length) posting.bytes = enlarged(bytes, Math.ceil(bytes.length * 1.5) + 10)
    push(posting, 2 * (row - posting.last) + (frequency === 1 ? 0 : 1))
    if (frequency !== 1) push(posting, frequency)
    collected += posting.size - size
    posting.last = row
    posting.rows++
  }

  return {
    /** Rows ascend; equal terms of a text are next to each other. */
    add(row: number, terms: string): void {
      const all = terms.split(' ')
      for (let at = 0; at < all.length; ) {
        const from = at++
        while (at < all.length && all[at] === all[from]) at++
        add(all[from]!, row, at - from)
      }
    },
    /** Moves long lists out of memory if they take too much. Call it between rows. */
    async relieve(): Promise<void> {
      if (collected < held) return
      await parts.take(words.values())
      collected = 0
      // What was taken is outside of the heap, where the collector does not see it grow.
      Bun.gc(true)
    },
    /** Writes all lists and keeps none. */
    async write(): Promise<void> {
      const writer = await openRecordWriter(folder, name)
      try {
        let some: Keyed[] = []
        let size = 0
        let written = 0
        for (const [word, posting] of words) {
          words.delete(word)
          const bytes = parts.read(Buffer.from(`${word} ${posting.rows}\n`), posting)
          some.push({ key: word, bytes })
          size += bytes.length
          if (size < WRITTEN) continue
          await writer.add(some)
          some = []
          written += size
          size = 0
          if (written < held) continue
          written = 0
          Bun.gc(true)
        }
        await writer.add(some)
        await writer.finish()
      } finally {
        await writer.close()
      }
    },
    close: parts.close,
  }
}

const headOf = (line: string) => line.split(' ') as [word: string, rows: string]

/**
 * @param lengths of the rows' texts, in terms
 * @param gone removed rows
 */
export function openPostings(folder: string, lengths: Int32Array, gone: readonly number[]) {
  const records = openRecords(folder, name, (head) => headOf(head)[0])
  /** Where a term occurs; valid until the next one. */
  const listOf = (term: string): Buffer | null => {
    const number = records.find(term)
    return number === null ? null : bodyOf(records.read(number))
  }
  const frequent = keepSets<Bits>(lengths.length, KEPT)

  /** The rows that contain one of these terms, including removed ones. */
  function rowsWith(terms: readonly string[]): Bits {
    const all = noBits(lengths.length)
    for (const term of terms) {
      const known = frequent.known(term)
      if (known !== null) unite(all, known)
      const list = known === null ? listOf(term) : null
      if (list === null) continue
      if (list.length < LONG * lengths.length) putAll(list, all)
      else unite(all, frequent.keep(term, putAll(list, noBits(lengths.length))))
    }
    return all
  }

  return {
    rowsWith,
    /** Number of rows that contain a term. */
    frequency(term: string): number {
      const number = records.find(term)
      if (number === null) return 0
      const all = Number(headOf(records.head(number))[1])
      if (gone.length === 0) return all
      const rows = rowsWith([term])
      return gone.reduce((left, row) => left - Number(holds(rows, row)), all)
    },
    /** Candidates for the `limit` best rows that pass: all of those, and some more. */
    best: (weighing: Weighing, limit: number, passing: Bits | null): number[] =>
      bestRows(weighing, listOf, { lengths, gone, passing, limit }),
    close: records.close,
  }
}

function putAll(list: Buffer, bits: Bits): Bits {
  let row = 0
  let step = 0
  let shift = 0
  for (let at = 0; at < list.length; at++) {
    const byte = list[at]!
    step |= (byte & 127) << shift
    shift += 7
    if (byte > 127) continue
    row += step >>> 1
    put(bits, row)
    // The frequency is of no interest.
    if (step & 1) while (list[++at]! > 127);
    step = 0
    shift = 0
  }
  return bits
}
