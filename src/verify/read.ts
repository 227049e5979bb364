/** Reads the canonical JSON of a bundle value by value: the members of its one object, and the items of members that are arrays. */

/** One value of the bundle. `item` is the index in an array, null for other members; an empty array is the one part −1. */
export interface Part {
  member: string
  item: number | null
  /** JSON; empty for the part −1. */
  text: string
  /** Where its member begins, with the comma before it, in bytes. */
  from: number
  /** Its own first byte, and the one after its last. */
  at: number
  end: number
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

/** End of the value that begins at `from`; −1 if it does not end within `maxPart` bytes. */
function endOfValue(bytes: Uint8Array, from: number): number {
  const last = Math.min(bytes.length, from + maxPart)
  let depth = 0
  let quoted = false
  for (let at = from; at < last; at++) {
    const byte = bytes[at]!
    if (quoted) {
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
  return -1
}

/** @throws FormError for bytes that are not such an object, or end before it does */
export function* readParts(bytes: Uint8Array): Generator<Part> {
  let at = 0
  const fail = (expected: string): FormError => new FormError(`at byte ${at}: expected ${expected}`)
  const next = (): number => {
    if (at >= bytes.length) throw fail('more: the file ends here')
    return bytes[at]!
  }
  const take = (byte: number): void => {
    if (next() !== byte) throw fail(JSON.stringify(String.fromCharCode(byte)))
    at++
  }
  const value = (): string => {
    next()
    const end = endOfValue(bytes, at)
    if (end === at) throw fail('a value')
    if (end === -1)
      throw fail(
        at + maxPart < bytes.length ? `a value of at most ${maxPart} bytes` : 'more: the file ends within this value',
      )
    try {
      const text = utf8.decode(bytes.subarray(at, end))
      at = end
      return text
    } catch {
      throw fail('UTF-8')
    }
  }
  const name = (): string => {
    if (next() !== quote) throw fail('the name of a member')
    const text = value()
    try {
      return JSON.parse(text) as string
    } catch {
      throw fail('the name of a member')
    }
  }

  take(open)
  for (let first = true; first || next() !== close; first = false) {
    const from = at
    if (!first) take(comma)
    const member = name()
    take(colon)
    const part = (item: number | null): Part => {
      const start = at
      return { member, item, text: item === -1 ? '' : value(), from, at: start, end: at }
    }
    if (next() !== openList) {
      yield part(null)
      continue
    }
    at++
    if (next() === closeList) yield part(-1)
    else
      for (let item = 0; ; item++) {
        yield part(item)
        if (next() === closeList) break
        take(comma)
      }
    at++
  }
  at++
  // Nothing follows, not even a newline.
  if (at < bytes.length) throw fail('the end of the file')
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
