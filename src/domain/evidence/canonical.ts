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

type Path = (string | number)[]

function number(value: number, path: Path): string {
  if (!Number.isFinite(value)) throw new NotInteroperable([...path], 'a finite number')
  if (Number.isInteger(value) && !Number.isSafeInteger(value))
    throw new NotInteroperable([...path], 'an integer within ±(2^53 − 1)')
  return JSON.stringify(value)
}

function string(value: string, path: Path): string {
  if (!value.isWellFormed()) throw new NotInteroperable([...path], 'text without lone surrogates')
  return JSON.stringify(value)
}

function array(value: readonly unknown[], path: Path): string {
  let text = '['
  for (let index = 0; index < value.length; index++) {
    path.push(index)
    text += (index === 0 ? '' : ',') + write(value[index], path)
    path.pop()
  }
  return `${text}]`
}

function object(value: Record<string, unknown>, path: Path): string {
  let text = '{'
  // The default order of sort is that of UTF-16 code units, as RFC 8785 asks.
  for (const key of Object.keys(value).sort()) {
    path.push(key)
    text += `${text.length === 1 ? '' : ','}${string(key, path)}:${write(value[key], path)}`
    path.pop()
  }
  return `${text}}`
}

/** @param path where the value stands: one array for the whole walk, for its sake it grows and shrinks */
function write(value: unknown, path: Path): string {
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
      throw new NotInteroperable([...path], 'a JSON value')
  }
  if (value === null) return 'null'
  if (path.length >= deepestLevel) throw new NotInteroperable([...path], `at most ${deepestLevel} levels of nesting`)
  return Array.isArray(value) ? array(value, path) : object(value as Record<string, unknown>, path)
}

/** The canonical text of a JSON value. @throws NotInteroperable for what I-JSON can't carry */
export const canonical = (value: unknown): string => write(value, [])
