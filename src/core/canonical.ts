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
  // By default `sort` orders by UTF-16 code units, as RFC 8785 requires.
  for (const key of Object.keys(value).sort()) {
    path.push(key)
    text += `${text.length === 1 ? '' : ','}${string(key, path)}:${write(value[key], path)}`
    path.pop()
  }
  return `${text}}`
}

/** @param path of the value; one array, which the whole walk modifies */
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
  if (path.length >= maxDepth) throw new NotInteroperable([...path], `at most ${maxDepth} levels of nesting`)
  return Array.isArray(value) ? array(value, path) : object(value as Record<string, unknown>, path)
}

/** Marks a value whose keys an object can't hold in canonical order, or that I-JSON can't carry. */
const unsure = Symbol('unsure')

/** Whether an object can hold these keys in this order: it puts numeric keys first, and `__proto__` does not become a key. */
const canHold = (sorted: readonly string[]): boolean =>
  (sorted.length === 0 || sorted[0]! >= ':') && !sorted.includes('__proto__')

/** Sorts in place by UTF-16 code units. For the few keys of a payload it takes a third of the time of `sort`. */
function sortKeys(keys: string[]): string[] {
  if (keys.length > 32) return keys.sort()
  for (let next = 1; next < keys.length; next++) {
    const key = keys[next]!
    let at = next
    for (; at > 0 && keys[at - 1]! > key; at--) keys[at] = keys[at - 1]!
    keys[at] = key
  }
  return keys
}

/** For each level, the keys of the last object in its own and in canonical order: objects from one sender mostly have the same keys. */
const latest: { keys: readonly string[]; sorted: readonly string[] | null }[] = Array.from(
  { length: maxDepth },
  () => ({
    keys: [],
    sorted: [],
  }),
)

function isAlike(keys: readonly string[], known: readonly string[]): boolean {
  if (keys.length !== known.length) return false
  for (let at = 0; at < keys.length; at++) if (keys[at] !== known[at]) return false
  return true
}

/** The keys of an object in canonical order; null if an object can't hold them so, or I-JSON can't carry one. */
function sortedKeys(value: object, level: number): readonly string[] | null {
  const keys = Object.keys(value)
  const known = latest[level]!
  if (isAlike(keys, known.keys)) return known.sorted
  const all = sortKeys([...keys])
  const sorted = canHold(all) && all.every((key) => key.isWellFormed()) ? all : null
  if (keys.length <= 64) latest[level] = { keys, sorted }
  return sorted
}

/** The value with all keys in canonical order, or {@link unsure}. */
function ordered(value: unknown, level: number): unknown {
  switch (typeof value) {
    case 'string':
      return value.isWellFormed() ? value : unsure
    case 'number':
      return Number.isSafeInteger(value) || (Number.isFinite(value) && !Number.isInteger(value)) ? value : unsure
    case 'boolean':
      return value
    case 'object':
      break
    default:
      return unsure
  }
  if (value === null) return value
  if (level === maxDepth) return unsure
  if (Array.isArray(value)) {
    const items: unknown[] = []
    for (const item of value) {
      const inner = ordered(item, level + 1)
      if (inner === unsure) return unsure
      items.push(inner)
    }
    return items
  }
  const keys = sortedKeys(value, level)
  if (keys === null) return unsure
  const object: Record<string, unknown> = {}
  for (let at = 0; at < keys.length; at++) {
    const key = keys[at]!
    const inner = ordered((value as Record<string, unknown>)[key], level + 1)
    if (inner === unsure) return unsure
    object[key] = inner
  }
  return object
}

/**
 * The canonical text of a JSON value. Nearly all values are sorted and then written by the engine, which takes half the time; the rest,
 * including refused ones, are written piece by piece.
 * @throws NotInteroperable for a value that I-JSON can't carry
 */
export function canonical(value: unknown): string {
  const inOrder = ordered(value, 0)
  return inOrder === unsure ? write(value, []) : JSON.stringify(inOrder)
}
