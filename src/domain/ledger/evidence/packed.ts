/** Checks a page of records as bytes: each record is hashed in place, which takes half the time of reading it as strings. */
import { preimageFrame, sha256Into } from './hash.ts'

/** The result of a page without flaws. */
export interface PackedPage {
  /** The first record's hash of the record before it. */
  first_prev: string
  last_hash: string
  /** 32 bytes for each record; overwritten by the next page. */
  hashes: readonly Uint8Array[]
}

/** Lengths of the texts around the columns, in bytes. */
const [toType, toClass, toPayload, toPrev, toSeq, toSource, toTs, toEnd] = preimageFrame.map(
  ({ length }) => length,
) as [number, number, number, number, number, number, number, number]
/** `attested` is as long. */
const classLength = 'observed'.length
const hashLength = 64
const [space, quote, backslash, zero] = [0x20, 0x22, 0x5c, 0x30]
const hexDigits = Buffer.from('0123456789abcdef')

/** Whether JSON writes the text unchanged. */
function needsNoEscape(bytes: Uint8Array, from: number, to: number): boolean {
  for (let at = from; at < to; at++) {
    const byte = bytes[at]!
    if (byte < space || byte === quote || byte === backslash) return false
  }
  return true
}

/** Whether the text is the lowercase hex of a hash. */
function isHexOf(hash: Uint8Array, bytes: Uint8Array, from: number): boolean {
  for (let at = 0; at < hash.length; at++) {
    const byte = hash[at]!
    if (bytes[from + 2 * at] !== hexDigits[byte >> 4] || bytes[from + 2 * at + 1] !== hexDigits[byte & 15]) return false
  }
  return true
}

function isText(text: string, bytes: Uint8Array, from: number): boolean {
  for (let at = 0; at < text.length; at++) if (bytes[from + at] !== text.charCodeAt(at)) return false
  return true
}

/**
 * Checks pages of up to `most` records. A page that is not certainly intact, be it damaged or with columns that JSON escapes, gives null;
 * it has to be read record by record, which tells more.
 */
export function packedPages(most: number) {
  const room = Buffer.alloc(32 * most)
  const hashes = Array.from({ length: most }, (_, at) => room.subarray(32 * at, 32 * at + 32))

  /**
   * @param bytes as the port's `packed` returns them with the {@link preimageFrame}
   * @param seq of the first record
   * @param count of records, at most `most`
   * @param prev hash of the record before; null if it is unknown
   */
  return (bytes: Uint8Array, seq: number, count: number, prev: string | null): PackedPage | null => {
    let at = 0
    const length = (): number => {
      let value = 0
      for (; at < bytes.length && bytes[at] !== space; at++) value = 10 * value + bytes[at]! - zero
      at++
      return value
    }
    let first_prev = ''
    for (let which = 0; which < count; which++) {
      const typeLength = length()
      const payloadLength = length()
      const sourceLength = length()
      const tsLength = length()
      const number = String(seq + which)
      const typeAt = at + toType
      const classAt = typeAt + typeLength + toClass
      const prevAt = classAt + classLength + toPayload + payloadLength + toPrev
      const seqAt = prevAt + hashLength + toSeq
      const sourceAt = seqAt + number.length + toSource
      const tsAt = sourceAt + sourceLength + toTs
      const hashAt = tsAt + tsLength + toEnd
      const hash = hashes[which]!
      if (hashAt + hashLength > bytes.length) return null
      sha256Into(hash, bytes.subarray(at, hashAt))
      if (which === 0) first_prev = Buffer.from(bytes.subarray(prevAt, prevAt + hashLength)).toString()
      const follows = which === 0 ? prev === null || first_prev === prev : isHexOf(hashes[which - 1]!, bytes, prevAt)
      const right =
        follows &&
        isHexOf(hash, bytes, hashAt) &&
        isText(number, bytes, seqAt) &&
        (isText('observed', bytes, classAt) || isText('attested', bytes, classAt)) &&
        needsNoEscape(bytes, typeAt, typeAt + typeLength) &&
        needsNoEscape(bytes, sourceAt, sourceAt + sourceLength) &&
        needsNoEscape(bytes, tsAt, tsAt + tsLength)
      if (!right) return null
      at = hashAt + hashLength
    }
    if (at !== bytes.length) return null
    return { first_prev, last_hash: hashes[count - 1]!.toString('hex'), hashes: hashes.slice(0, count) }
  }
}
