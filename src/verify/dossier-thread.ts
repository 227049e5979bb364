/** The receipts of a dossier: checks acts of the thread against the record and the lines of the audit trail in the dossier. */
import { createHash } from 'node:crypto'
import { digestOf, type Fail, fieldsIn, listIn } from './dossier-parts.ts'
import type { Fields } from './findings.ts'
import { NoteFormError, type NoteKey, readKey } from './note.ts'
import { shown } from './read.ts'
import { verifyReceipts } from './receipt.ts'

/** The key of the thread; null if it can't be read. @param log name of the key of the evidence log */
function threadKey(stated: unknown, log: string, fail: Fail): NoteKey | null {
  try {
    const key = readKey(shown(stated))
    if (key.name !== `${log}/thread`) fail(`its key is that of ${key.name}, expected ${log}/thread`)
    return key
  } catch (error) {
    if (!(error instanceof NoteFormError)) throw error
    fail(`its key: ${error.message}`)
    return null
  }
}

/** The digest by which an act names a trail line: over its members in this order, those of the detail in stored order. */
function lineDigest({ at, agent, method, request_id, ids, allowed, rules, detail }: Fields): string {
  const members = [at, agent, method, request_id, ids, allowed, rules, detail ?? null]
  return createHash('sha256').update(JSON.stringify(members)).digest('hex')
}

/**
 * Whether each receipt leads to its checkpoint, the last state of the decision is its record, and the lines of the trail are those that the
 * acts name.
 * @returns false if some of the acts or lines needed for this are missing
 */
export function checkThread(dossier: Fields, log: string, fail: Fail): boolean {
  const { receipts, thread_key, trail, decision, decision_sha256 } = dossier
  const key = threadKey(thread_key, log, fail)
  const acts = listIn(receipts)
  if (key !== null && acts.length > 0) {
    const policy = { logs: [{ key, url: null }], witnesses: [], quorum: 'none', isQuorum: () => true }
    for (const { message } of verifyReceipts(JSON.stringify({ receipts }), policy).findings) fail(message)
  }
  const payloads = acts.map(({ payload }) => fieldsIn(payload))
  const states = payloads.filter(({ record }) => fieldsIn(record).id === fieldsIn(decision).id && record !== undefined)
  const last = states.toSorted((a, b) => Number(a.revision) - Number(b.revision)).at(-1)
  if (last && digestOf(last.record) !== decision_sha256)
    fail(`the record is not what its last act, ${shown(last.record_id)}, says: it was changed without an act`)

  const lines = listIn(trail).map((line) => ({ line, digest: lineDigest(line) }))
  const named = new Set(payloads.map(({ audit_sha256 }) => audit_sha256))
  const isThere = new Set(lines.map(({ digest }) => digest))
  const missing = payloads.filter(({ audit_sha256 }) => audit_sha256 !== undefined && !isThere.has(shown(audit_sha256)))
  for (const { method, request_id, agent, record_id } of missing)
    for (const { line, digest } of lines)
      if (line.method === method && line.request_id === request_id && line.agent === agent && !named.has(digest))
        fail(
          `line ${shown(line.seq)} of the trail is not the one that the act ${shown(record_id)} names: it was changed`,
        )
  return last !== undefined && missing.length === 0
}
