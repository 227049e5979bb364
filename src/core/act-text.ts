/** The canonical text of an act's payload, the texts of an audit entry, and the digest by which an act names the entry. */
import { hash } from 'node:crypto'
import type { AuditEntry } from '../../sdk/storage/store.ts'
import { canonical, maxDepth, NotInteroperable } from './canonical.ts'

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

const made = new WeakMap<AuditEntry, AuditTexts>()

/** @param entry must not be changed afterwards */
export function auditTexts(entry: AuditEntry): AuditTexts {
  const known = made.get(entry)
  if (known !== undefined) return known
  const { ids, rules, detail } = entry
  const texts = {
    ids: JSON.stringify(ids),
    rules: JSON.stringify(rules),
    detail: JSON.stringify(detail ?? null),
  }
  made.set(entry, texts)
  return texts
}

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
