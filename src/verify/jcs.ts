/** The verifier's own canonical JSON, so that a mistake of the writer's is no mistake of both. @see RFC 8785 */

/** Thrown for a text that is not the canonical form of what it says. */
export class NotCanonical extends Error {
  override name = 'NotCanonical'
}

function write(value: unknown): string {
  if (typeof value === 'number' && Number.isInteger(value) && !Number.isSafeInteger(value))
    throw new NotCanonical('holds an integer beyond ±(2^53 − 1)')
  if (typeof value === 'string' && !value.isWellFormed()) throw new NotCanonical('holds half of a surrogate pair')
  if (value === null || typeof value !== 'object') return JSON.stringify(value)
  if (Array.isArray(value)) return `[${value.map(write).join(',')}]`
  const object = value as Record<string, unknown>
  const members = Object.keys(object)
    .sort()
    .map((key) => `${write(key)}:${write(object[key])}`)
  return `{${members.join(',')}}`
}

/** The canonical text of a value. @throws NotCanonical for what I-JSON can't carry */
export function canonicalText(value: unknown): string {
  try {
    return write(value)
  } catch (error) {
    if (error instanceof RangeError) throw new NotCanonical('is nested too deeply')
    throw error
  }
}

/** Whether the keys of all objects ascend in the order in which they are kept, and nothing is in it that I-JSON can't carry. */
function ordered(value: unknown): boolean {
  if (typeof value === 'number') return !Number.isInteger(value) || Number.isSafeInteger(value)
  if (typeof value === 'string') return value.isWellFormed()
  if (value === null || typeof value !== 'object') return true
  if (Array.isArray(value)) return value.every(ordered)
  let last: string | null = null
  for (const key in value) {
    if ((last !== null && key <= last) || !key.isWellFormed()) return false
    if (!ordered((value as Record<string, unknown>)[key])) return false
    last = key
  }
  return true
}

/** Most texts are canonical, which the engine's own printer shows in a fraction of the time. */
function plainlyCanonical(value: unknown, text: string): boolean {
  try {
    return ordered(value) && JSON.stringify(value) === text
  } catch (error) {
    if (error instanceof RangeError) return false
    throw error
  }
}

/** The value of a canonical text. @throws NotCanonical where the text is no JSON, or not the one text of its value */
export function parseCanonical(text: string): unknown {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw new NotCanonical('is not JSON')
  }
  if (!plainlyCanonical(value, text) && canonicalText(value) !== text)
    throw new NotCanonical(
      'is not in canonical form (order of keys, numbers, escapes, spaces or a key that stands twice)',
    )
  return value
}
