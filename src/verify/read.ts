/** Reads the canonical JSON of a bundle piece by piece: the members of its one object, and the items of members that are arrays. */

/** One value of the bundle. `item` is the index in an array, null for other members; an empty array is the one part −1. */
export interface Part {
  member: string
  item: number | null
  /** JSON; empty for the part −1. */
  text: string
  /** Its start, in bytes. */
  at: number
}

/** Thrown unless the bytes are one JSON object without spaces. */
export class FormError extends Error {
  override name = 'FormError'
}

const code = (char: string): number => char.charCodeAt(0)
const [quote, backslash, comma, colon] = [code('"'), code('\\'), code(','), code(':')]
const [open, close, openList, closeList] = [code('{'), code('}'), code('['), code(']')]
/** No bundle has larger values: an event fits into a request of 16 MiB. */
const maxPart = 33_554_432

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** Position of the scan within a value, so that nothing is scanned twice when more of the file is read. */
interface Scan {
  /** Scanned bytes of the value. */
  seen: number
  depth: number
  quoted: boolean
}

/** End of the value that begins at `from`; −1 if it is incomplete. */
function endOfValue(bytes: Buffer, from: number, scan: Scan): number {
  let { depth, quoted } = scan
  let at = from + scan.seen
  for (; at < bytes.length; at++) {
    const byte = bytes[at]!
    if (quoted) {
      // The next byte may be in the next piece of the file: it is skipped there.
      if (byte === backslash) at++
      else if (byte === quote) {
        quoted = false
        if (bytes[from] === quote) return at + 1
      }
    } else if (byte === quote) quoted = true
    else if (byte === open || byte === openList) depth++
    else if (byte === close || byte === closeList) {
      if (depth === 0) return at
      if (--depth === 0) return at + 1
    } else if (byte === comma && depth === 0) return at
  }
  Object.assign(scan, { seen: at - from, depth, quoted })
  return -1
}

/** @throws FormError for bytes that are not such an object, or end before it does */
export async function* readParts(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Part> {
  const source = chunks[Symbol.asyncIterator]()
  let room = Buffer.allocUnsafe(131_072)
  let bytes = room.subarray(0, 0)
  let at = 0
  /** Number of bytes read before `bytes`. */
  let before = 0

  const fail = (expected: string): FormError => new FormError(`at byte ${before + at}: expected ${expected}`)
  /** Reads more bytes. @returns false at the end of the file */
  const readMore = async (): Promise<boolean> => {
    const { done, value } = await source.next()
    if (done === true) return false
    if (bytes.length - at > maxPart) throw fail(`a value of at most ${maxPart} bytes`)
    before += at
    const left = bytes.length - at
    if (left + value.length > room.length) {
      // Twice as large each time, so that a long value is not copied with every piece of the file.
      const larger = Buffer.allocUnsafe(2 * (left + value.length))
      bytes.copy(larger, 0, at)
      room = larger
    } else if (at > 0) room.copyWithin(0, at, bytes.length)
    room.set(value, left)
    bytes = room.subarray(0, left + value.length)
    at = 0
    return true
  }
  const next = async (): Promise<number> => {
    while (at >= bytes.length) if (!(await readMore())) throw fail('more: the file ends here')
    return bytes[at]!
  }
  const take = async (byte: number): Promise<void> => {
    if ((await next()) !== byte) throw fail(JSON.stringify(String.fromCharCode(byte)))
    at++
  }
  const value = async (): Promise<string> => {
    await next()
    const scan: Scan = { seen: 0, depth: 0, quoted: false }
    for (;;) {
      const end = endOfValue(bytes, at, scan)
      if (end === at) throw fail('a value')
      if (end === -1) {
        if (!(await readMore())) throw fail('more: the file ends within this value')
        continue
      }
      try {
        const text = utf8.decode(bytes.subarray(at, end))
        at = end
        return text
      } catch {
        throw fail('UTF-8')
      }
    }
  }
  const name = async (): Promise<string> => {
    if ((await next()) !== quote) throw fail('the name of a member')
    const text = await value()
    try {
      return JSON.parse(text) as string
    } catch {
      throw fail('the name of a member')
    }
  }

  await take(open)
  for (let first = true; first || (await next()) !== close; first = false) {
    if (!first) await take(comma)
    const member = await name()
    await take(colon)
    if ((await next()) !== openList) {
      const start = before + at
      yield { member, item: null, text: await value(), at: start }
      continue
    }
    at++
    if ((await next()) === closeList) yield { member, item: -1, text: '', at: before + at }
    else
      for (let item = 0; ; item++) {
        await next()
        const start = before + at
        yield { member, item, text: await value(), at: start }
        if ((await next()) === closeList) break
        await take(comma)
      }
    at++
  }
  at++
  // Nothing follows, not even a newline.
  while (at >= bytes.length) if (!(await readMore())) return
  throw fail('the end of the file')
}

/** Thrown for a text that is not canonical. The verifier has its own canonical JSON, to be independent of the writer's. @see RFC 8785 */
export class NotCanonical extends Error {
  override name = 'NotCanonical'
}

function write(value: unknown, isStrict: boolean): string {
  if (isStrict && typeof value === 'number' && Number.isInteger(value) && !Number.isSafeInteger(value))
    throw new NotCanonical('contains an integer beyond ±(2^53 − 1)')
  if (isStrict && typeof value === 'string' && !value.isWellFormed())
    throw new NotCanonical('contains half of a surrogate pair')
  if (value === null || typeof value !== 'object') return JSON.stringify(value) ?? 'null'
  if (Array.isArray(value)) return `[${value.map((one) => write(one, isStrict)).join(',')}]`
  const object = value as Record<string, unknown>
  const members = Object.keys(object)
    .filter((key) => object[key] !== undefined)
    .sort()
    .map((key) => `${write(key, isStrict)}:${write(object[key], isStrict)}`)
  return `{${members.join(',')}}`
}

/** Likewise, with JavaScript's notation for what I-JSON can't represent. */
export const stableText = (value: unknown): string => write(value, false)

/** The canonical text of a value. @throws NotCanonical for values that I-JSON can't represent */
export function canonicalText(value: unknown): string {
  try {
    return write(value, true)
  } catch (error) {
    if (error instanceof RangeError) throw new NotCanonical('is nested too deeply')
    throw error
  }
}

const token = /\s+|"(?:[^"\\]+|\\.)*"|-?\d[\d.eE+-]*|[a-z]+|[{}[\],:]/y

/**
 * The value of a JSON text in any order and with any spaces. Refuses what readers may take for different values: a member that occurs
 * twice, and a number in another form than the shortest.
 * @throws NotCanonical for anything else
 */
export function parseStrict(text: string): unknown {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw new NotCanonical('is not JSON')
  }
  /** Names of the members of each object around a token; null for an array. */
  const around: (Set<string> | null)[] = []
  let isName = false
  token.lastIndex = 0
  for (let found = token.exec(text); found !== null; found = token.exec(text)) {
    const [one] = found
    const names = around.at(-1) ?? null
    if (one === '{' || one === '[') around.push(one === '{' ? new Set() : null)
    if (one === '}' || one === ']') around.pop()
    if (one === '{' || (one === ',' && names !== null)) isName = true
    else if (one.startsWith('"') && isName && names !== null) {
      const name = JSON.parse(one) as string
      if (names.has(name)) throw new NotCanonical(`has the member ${JSON.stringify(name.slice(0, 100))} twice`)
      names.add(name)
      isName = false
    } else if (/^[-\d]/.test(one) && String(Number(one)) !== one)
      throw new NotCanonical(`has a number in another form, ${one.slice(0, 40)}`)
  }
  return value
}

/** The value of a canonical text. @throws NotCanonical for invalid JSON, or a text that is not canonical */
export function parseCanonical(text: string): unknown {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw new NotCanonical('is not JSON')
  }
  if (canonicalText(value) !== text)
    throw new NotCanonical('is not in canonical form (order of keys, numbers, escapes, spaces or a duplicate key)')
  return value
}
