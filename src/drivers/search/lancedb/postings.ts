/**
 * Which rows of a segment hold a word, and how often: what is counted and ranked by words. LanceDB counts by scoring all of them, which took
 * 60 ms for 100 000, and reads a list of its own into memory before it ranks. A record of a word begins with the number of its rows. These
 * follow in ascending order, each as the distance to the one before, doubled, plus one if its frequency follows, as it is not 1. Each number
 * is in as many groups of 7 bits as it takes.
 */
import { enlarged } from '../../../core/enlarged.ts'
import { bestRows } from './ranking.ts'
import type { Weighing } from './reader.ts'
import { type Keyed, openRecords, openRecordWriter } from './records.ts'

const name = 'postings'
/** Bytes after which what was collected is written: all at once would be in memory three times, for a million rows 600 MB. */
const WRITTEN = 4_000_000
const newline = 10

interface Posting {
  bytes: Uint8Array
  size: number
  rows: number
  last: number
}

function push(posting: Posting, value: number): void {
  let rest = value
  for (; rest > 127; rest >>>= 7) posting.bytes[posting.size++] = (rest & 127) | 128
  posting.bytes[posting.size++] = rest
}

/** Collects them in memory: about a byte for each different word of each row. */
export function collectPostings() {
  const words = new Map<string, Posting>()

  function add(word: string, row: number, frequency: number): void {
    let held = words.get(word)
    if (held === undefined) {
      held = { bytes: new Uint8Array(4), size: 0, rows: 0, last: 0 }
      words.set(word, held)
    }
    if (held.size + 10 > held.bytes.length) held.bytes = enlarged(held.bytes, Math.ceil(held.bytes.length * 1.5) + 10)
    push(held, 2 * (row - held.last) + (frequency === 1 ? 0 : 1))
    if (frequency !== 1) push(held, frequency)
    held.last = row
    held.rows++
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
    /** Writes them, and keeps none. */
    async write(folder: string): Promise<void> {
      const writer = await openRecordWriter(folder, name)
      try {
        let some: Keyed[] = []
        let collected = 0
        for (const [word, { bytes, size, rows }] of words) {
          words.delete(word)
          some.push({ key: word, bytes: Buffer.concat([Buffer.from(`${word} ${rows}\n`), bytes.subarray(0, size)]) })
          collected += size
          if (collected < WRITTEN) continue
          await writer.add(some)
          some = []
          collected = 0
        }
        await writer.add(some)
        await writer.finish()
      } finally {
        await writer.close()
      }
    },
  }
}

const headOf = (record: Buffer): [word: string, rows: string] =>
  record.toString('utf8', 0, record.indexOf(newline)).split(' ') as [string, string]

/**
 * @param lengths of the rows' texts, in terms
 * @param gone rows that count no more
 */
export function openPostings(folder: string, lengths: Int32Array, gone: readonly number[]) {
  const records = openRecords(folder, name, (record) => headOf(record)[0])
  const read = (term: string): Buffer | null => {
    const number = records.find(term)
    return number === null ? null : records.read(number)
  }
  const listOf = (record: Buffer): Buffer => record.subarray(record.indexOf(newline) + 1)

  return {
    /** Marks the rows that hold one of these terms, also those that are gone. */
    mark(terms: readonly string[]): Uint8Array {
      const marks = new Uint8Array(lengths.length)
      for (const term of terms) {
        const record = read(term)
        if (record !== null) markAll(listOf(record), marks)
      }
      return marks
    },
    /** How many rows hold a term. */
    frequency(term: string): number {
      const record = read(term)
      if (record === null) return 0
      const all = Number(headOf(record)[1])
      if (gone.length === 0) return all
      const marks = new Uint8Array(lengths.length)
      markAll(listOf(record), marks)
      return gone.reduce((left, row) => left - marks[row]!, all)
    },
    /** The rows that may be among the `limit` best: all that are, and some more. */
    best: (weighing: Weighing, limit: number): number[] =>
      bestRows(
        weighing,
        (term) => {
          const record = read(term)
          return record && listOf(record)
        },
        { lengths, gone, limit },
      ),
    close: records.close,
  }
}

function markAll(list: Buffer, marks: Uint8Array): void {
  let row = 0
  let step = 0
  let shift = 0
  for (let at = 0; at < list.length; at++) {
    const byte = list[at]!
    step |= (byte & 127) << shift
    shift += 7
    if (byte > 127) continue
    row += step >>> 1
    marks[row] = 1
    // The frequency is of no interest.
    if (step & 1) while (list[++at]! > 127);
    step = 0
    shift = 0
  }
}
