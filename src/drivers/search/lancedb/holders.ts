/**
 * Which rows of a segment hold a word, so that they can be counted: LanceDB counts by scoring all of them, which took 60 ms for 100 000.
 * A record of a word is its rows in ascending order, each as the distance to the one before, in as many groups of 7 bits as it takes.
 */
import { enlarged } from '../../../core/enlarged.ts'
import { type Keyed, openRecords, openRecordWriter } from './records.ts'

const name = 'words'
/** Bytes after which what was collected is written: all at once would be in memory three times, for a million rows 600 MB. */
const WRITTEN = 4_000_000
const newline = 10

interface Holders {
  bytes: Uint8Array
  size: number
  last: number
}

/** Collects them in memory: about a byte for each different word of each row. */
export function collectHolders() {
  const words = new Map<string, Holders>()

  function add(word: string, row: number): void {
    let held = words.get(word)
    if (held === undefined) {
      held = { bytes: new Uint8Array(4), size: 0, last: 0 }
      words.set(word, held)
    }
    if (held.size + 5 > held.bytes.length) held.bytes = enlarged(held.bytes, Math.ceil(held.bytes.length * 1.5) + 5)
    let step = row - held.last
    held.last = row
    for (; step > 127; step >>>= 7) held.bytes[held.size++] = (step & 127) | 128
    held.bytes[held.size++] = step
  }

  return {
    /** Rows ascend; equal terms of a text are next to each other. */
    add(row: number, terms: string): void {
      let last = ''
      for (const term of terms.split(' ')) {
        if (term !== last) add(term, row)
        last = term
      }
    },
    /** Writes them, and keeps none. */
    async write(folder: string): Promise<void> {
      const writer = await openRecordWriter(folder, name)
      try {
        let some: Keyed[] = []
        let collected = 0
        for (const [word, { bytes, size }] of words) {
          words.delete(word)
          some.push({ key: word, bytes: Buffer.concat([Buffer.from(`${word}\n`), bytes.subarray(0, size)]) })
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

/** @param rows how many the segment has */
export function openHolders(folder: string, rows: number) {
  const records = openRecords(folder, name, (record) => record.toString('utf8', 0, record.indexOf(newline)))
  return {
    /** Marks the rows that hold one of these terms. */
    mark(terms: readonly string[]): Uint8Array {
      const marks = new Uint8Array(rows)
      for (const term of terms) {
        const number = records.find(term)
        if (number !== null) markAll(records.read(number), marks)
      }
      return marks
    },
    close: records.close,
  }
}

function markAll(record: Buffer, marks: Uint8Array): void {
  let row = 0
  let step = 0
  let shift = 0
  for (let at = record.indexOf(newline) + 1; at < record.length; at++) {
    const byte = record[at]!
    step |= (byte & 127) << shift
    shift += 7
    if (byte < 128) {
      row += step
      marks[row] = 1
      step = 0
      shift = 0
    }
  }
}
