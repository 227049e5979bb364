/**
 * Canonical JSON: one text for one value, so that a hash of it means something.
 * @see RFC 8785 (JCS), RFC 7493 (I-JSON)
 */

/** Thrown for a value that I-JSON can't carry. */
export class NotInteroperable extends Error {
  /** Keys and indexes from the value down to the culprit. */
  readonly path: (string | number)[]
  readonly expected: string

  constructor(path: (string | number)[], expected: string) {
    super(`expected ${expected}`)
    this.name = 'NotInteroperable'
    this.path = path
    this.expected = expected
  }
}

/** Levels of nesting; deeper values are refused. */
export const deepestLevel = 64

function number(value: number, path: (string | number)[]): string {
  if (!Number.isFinite(value)) throw new NotInteroperable(path, 'a finite number')
  if (Number.isInteger(value) && !Number.isSafeInteger(value))
    throw new NotInteroperable(path, 'an integer within ±(2^53 − 1)')
  return JSON.stringify(value)
}

function string(value: string, path: (string | number)[]): string {
  if (!value.isWellFormed()) throw new NotInteroperable(path, 'text without lone surrogates')
  return JSON.stringify(value)
}

function write(value: unknown, path: (string | number)[]): string {
  switch (typeof value) {
    case 'string':
      return string(value, path)
    case 'number':
      return number(value, path)
    case 'boolean':
      return value ? 'true' : 'false'
    case 'object':
      break
    default:
      throw new NotInteroperable(path, 'a JSON value')
  }
  if (value === null) return 'null'
  if (path.length >= deepestLevel) throw new NotInteroperable(path, `at most ${deepestLevel} levels of nesting`)
  if (Array.isArray(value)) return `[${value.map((item, index) => write(item, [...path, index])).join(',')}]`
  // The default order of sort is that of UTF-16 code units, as RFC 8785 asks.
  const members = Object.keys(value)
    .sort()
    .map((key) => {
      const at = [...path, key]
      return `${string(key, at)}:${write((value as Record<string, unknown>)[key], at)}`
    })
  return `{${members.join(',')}}`
}

/** The canonical text of a JSON value. @throws NotInteroperable for what I-JSON can't carry */
export const canonical = (value: unknown): string => write(value, [])
