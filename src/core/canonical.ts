/**
 * JSON texts that are hashed or stored: canonical JSON, one text for each value, so that equal values have equal hashes; and the texts of
 * acts, audit entries and decisions, each made once.
 * @see RFC 8785 (JCS), RFC 7493 (I-JSON)
 */

import { hash } from 'node:crypto'
import type { DecisionRecord } from '../../sdk/schema/decision.ts'
import type { AuditEntry } from '../../sdk/storage/store.ts'

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
  let text = ''
  if (Array.isArray(value)) {
    for (let at = 0; at < value.length; at++) {
      path?.push(at)
      text += `${at === 0 ? '' : ','}${write(value[at], path)}`
      path?.pop()
    }
    return `[${text}]`
  }
  const object = value as Record<string, unknown>
  // By default `sort` orders by UTF-16 code units, as RFC 8785 requires.
  for (const key of Object.keys(object).sort()) {
    const inner = object[key]
    if (path === null && inner === undefined) continue
    path?.push(key)
    if (path && !key.isWellFormed()) throw new NotInteroperable([...path], fault(key, 0)!)
    text += `${text === '' ? '' : ','}${JSON.stringify(key)}:${write(inner, path)}`
    path?.pop()
  }
  return `{${text}}`
}

/** The canonical text of a JSON value. @throws NotInteroperable for a value that I-JSON can't carry */
export const canonical = (value: unknown): string => write(value, [])

/**
 * JSON with sorted keys for any value: the canonical text wherever there is one, and JavaScript's notation for what I-JSON can't carry.
 * Undefined members are left out.
 */
export const stableJson = (value: unknown): string => write(value, null)

/** Writes what I-JSON can't carry as text: an act is never refused for a number or a character in its input. */
function interoperable(value: unknown, level = 0): unknown {
  if (typeof value === 'string') return value.toWellFormed()
  if (typeof value === 'number') return Number.isInteger(value) && !Number.isSafeInteger(value) ? String(value) : value
  if (value === null || typeof value !== 'object') return value
  if (level === maxDepth) return JSON.stringify(value).toWellFormed()
  if (Array.isArray(value)) return value.map((one) => interoperable(one, level + 1))
  const entries = Object.entries(value).map(([key, one]) => [key.toWellFormed(), interoperable(one, level + 1)])
  return Object.fromEntries(entries)
}

/**
 * Canonical JSON (RFC 8785) of a value. What I-JSON can't carry is written as text: integers beyond ±(2^53 − 1), lone surrogates as U+FFFD,
 * and values that are nested too deeply. Undefined members are left out.
 */
export function textOf(value: object): string {
  try {
    return canonical(Object.fromEntries(Object.entries(value).filter(([, member]) => member !== undefined)))
  } catch (error) {
    if (!(error instanceof NotInteroperable)) throw error
    return canonical(interoperable(JSON.parse(JSON.stringify(value))))
  }
}

/** The JSON of an audit entry's lists and detail, serialised once for counting, storing and hashing. */
export interface AuditTexts {
  ids: string
  rules: string
  /** `null` if there is none. */
  detail: string
}

/** The same function, run only once for each object, whose value is kept for as long as the object lives. */
export function memoize<K extends object, V>(make: (key: K) => V): (key: K) => V {
  const known = new WeakMap<K, V>()
  return (key) => {
    let made = known.get(key)
    if (made === undefined) {
      made = make(key)
      known.set(key, made)
    }
    return made
  }
}

/** The argument must not be changed afterwards. */
export const auditTexts = memoize(
  ({ ids, rules, detail }: AuditEntry): AuditTexts => ({
    ids: JSON.stringify(ids),
    rules: JSON.stringify(rules),
    detail: JSON.stringify(detail ?? null),
  }),
)

/**
 * SHA-256 of an audit entry without its number, lowercase hex. It covers the JSON of a list of the members. Those of `detail` are in the
 * order in which they are stored, so that storing and reading the entry does not change the digest.
 */
export function auditDigest(entry: AuditEntry): string {
  const { at, agent, method, request_id, allowed } = entry
  const { ids, rules, detail } = auditTexts(entry)
  const named = JSON.stringify([at, agent, method, request_id])
  return hash('sha256', `${named.slice(0, -1)},${ids},${allowed},${rules},${detail}]`, 'hex')
}

/** The JSON of a decision, serialised once for measuring, counting and storing. The argument must not be changed afterwards. */
export const recordText = memoize((record: DecisionRecord): string => JSON.stringify(record))
