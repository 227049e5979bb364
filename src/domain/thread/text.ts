/** The canonical text of what an act holds, and the digest of a line of the audit trail by which an act names it. */
import { hash } from 'node:crypto'
import type { AuditEntry } from '../../../sdk/storage/store.ts'
import { auditTexts } from '../../core/audit-text.ts'
import { canonical, maxDepth, NotInteroperable } from '../evidence/canonical.ts'

/** What I-JSON can't carry, as text: an act is never refused for a number or a character that somebody chose. */
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
 * Canonical JSON (RFC 8785) of what JSON keeps of a value. What I-JSON can't carry is written as text: integers beyond ±(2^53 − 1), lone
 * surrogates as U+FFFD, and what is nested too deeply.
 */
export function textOf(value: object): string {
  try {
    return canonical(value)
  } catch (error) {
    if (!(error instanceof NotInteroperable)) throw error
    return canonical(interoperable(JSON.parse(JSON.stringify(value))))
  }
}

/**
 * The same of an object whose keys are in canonical order already, and whose values are texts, truth values, safe integers, or lists of
 * these; undefined ones are left out. Half the time of {@link textOf}.
 */
export function sortedTextOf(value: object): string {
  const text = JSON.stringify(value)
  // A lone surrogate is escaped so; the escape of a backslash before the same letters is merely written the slow way.
  return text.includes('\\ud') ? textOf(value) : text
}

/**
 * SHA-256 of a line of the audit trail, without its number: lowercase hex. It is taken over the JSON of a list of the members, those of the
 * detail in the order in which they are stored: keeping and reading them leaves it as it is.
 */
export function auditDigest(entry: AuditEntry): string {
  const { at, agent, method, request_id, allowed } = entry
  const { ids, rules, detail } = auditTexts(entry)
  const named = JSON.stringify([at, agent, method, request_id])
  return hash('sha256', `${named.slice(0, -1)},${ids},${allowed},${rules},${detail}]`, 'hex')
}
