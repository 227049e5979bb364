/** The verifier's own parser of proofs that an entry is in a log. @see C2SP tlog-proof; RFC 9162 section 2.1.3.2 */
import { hash as digestOf } from 'node:crypto'
import { base64, NoteFormError, type ReadNote, readNote } from './note.ts'

/** A proof without its extra data, which nothing authenticates. */
export interface TlogProof {
  /** Index of the entry, from 0. */
  index: number
  /** Hashes from the sibling of the leaf upwards. */
  path: Buffer[]
  note: ReadNote
}

const longestPath = 63

/** @throws NoteFormError */
export function readProof(text: string): TlogProof {
  const gap = text.indexOf('\n\n')
  const [version, ...lines] = text.slice(0, gap === -1 ? undefined : gap).split('\n')
  if (gap === -1 || version !== 'c2sp.org/tlog-proof@v1')
    throw new NoteFormError('is not a tlog-proof@v1: index, hashes, an empty line, a checkpoint')
  const extra = lines[0]?.startsWith('extra ') ? lines.shift()!.slice('extra '.length) : null
  if (extra !== null && !base64(extra)) throw new NoteFormError('has extra data that is not base64')
  const [, digits = ''] = /^index (0|[1-9]\d{0,15})$/.exec(lines.shift() ?? '') ?? []
  const index = Number(digits)
  if (digits === '' || !Number.isSafeInteger(index)) throw new NoteFormError('has no index of the entry')
  const path = lines.map((line) => {
    const hash = base64(line)
    if (hash?.length !== 32) throw new NoteFormError('has a line in its path that is not a hash')
    return hash
  })
  if (path.length > longestPath) throw new NoteFormError('has a path longer than that of any tree')
  return { index, path, note: readNote(text.slice(gap + 2)) }
}

const half = (number: number): number => Math.floor(number / 2)
const node = (left: Uint8Array, right: Uint8Array): Buffer =>
  digestOf('sha256', Buffer.concat([Uint8Array.of(1), left, right]), 'buffer')

/** Whether the path leads from an entry to the root of the checkpoint. @param entry lowercase hex */
export function leadsToRoot({ index, path, note }: TlogProof, entry: string): boolean {
  if (index >= note.size) return false
  let hash: Buffer = digestOf('sha256', Buffer.concat([Uint8Array.of(0), Buffer.from(entry, 'hex')]), 'buffer')
  let [at, last] = [index, note.size - 1]
  for (const sibling of path) {
    if (last === 0) return false
    if (at % 2 === 1) hash = node(sibling, hash)
    else if (at < last) hash = node(hash, sibling)
    else {
      // The rightmost subtree has no sibling on levels where it is the left child.
      while (at % 2 === 0) [at, last] = [half(at), half(last)]
      hash = node(sibling, hash)
    }
    ;[at, last] = [half(at), half(last)]
  }
  return last === 0 && hash.toString('hex') === note.root_hash
}
