/**
 * Canonical JSON: one text for each value, so that equal values have equal hashes.
 * @see RFC 8785 (JCS), RFC 7493 (I-JSON)
 */

/** Thrown for a value that I-JSON can't carry. */
export class NotInteroperable extends Error {
  /** Keys and indexes from the root to the refused value. */
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
export const maxDepth = 64

type Path = (string | number)[]

/** Why I-JSON can't carry a value, apart from its members; null if it can. */
function fault(value: unknown, depth: number): string | null {
  switch (typeof value) {
    case 'string':
      return value.isWellFormed() ? null : 'text without lone surrogates'
    case 'number':
      if (!Number.isFinite(value)) return 'a finite number'
      return Number.isInteger(value) && !Number.isSafeInteger(value) ? 'an integer within ±(2^53 − 1)' : null
    case 'boolean':
      return null
    case 'object':
      return value !== null && depth >= maxDepth ? `at most ${maxDepth} levels of nesting` : null
    default:
      return 'a JSON value'
  }
}

/** @param path of the value; one array, which the whole walk modifies; null if every value is written as JSON does */
function write(value: unknown, path: Path | null): string {
  const refused = path && fault(value, path.length)
  if (refused) throw new NotInteroperable([...path], refused)
  if (value === null || typeof value !== 'object') return JSON.stringify(value) ?? 'null'
  const member = (key: string | number, inner: unknown): string => {
    path?.push(key)
    if (path && typeof key === 'string' && !key.isWellFormed()) throw new NotInteroperable([...path], fault(key, 0)!)
    const text = write(inner, path)
    path?.pop()
    return typeof key === 'string' ? `${JSON.stringify(key)}:${text}` : text
  }
  if (Array.isArray(value)) return `[${value.map((inner, index) => member(index, inner)).join()}]`
  const object = value as Record<string, unknown>
  // By default `sort` orders by UTF-16 code units, as RFC 8785 requires.
  const keys = Object.keys(object)
    .filter((key) => path !== null || object[key] !== undefined)
    .sort()
  return `{${keys.map((key) => member(key, object[key])).join()}}`
}

/** The canonical text of a JSON value. @throws NotInteroperable for a value that I-JSON can't carry */
export const canonical = (value: unknown): string => write(value, [])

/**
 * JSON with sorted keys for any value: the canonical text wherever there is one, and JavaScript's notation for what I-JSON can't carry.
 * Undefined members are left out.
 */
export const stableJson = (value: unknown): string => write(value, null)
