/** The parts of a dossier, each checked against the others: digests, verdict and rules, events, statement, score, acts. */
import { createHash, verify } from 'node:crypto'
import { recordHash } from '../domain/ledger/evidence/hash.ts'
import { isEvidenceClass } from './chain.ts'
import { base64, type NoteKey } from './note.ts'
import { canonicalText, NotCanonical, stableText } from './read.ts'
import { type Fields, fieldsIn, isFields, isHash, listIn, shown } from './report.ts'

/** Adds a finding to the check of the part. */
export type Fail = (message: string, about?: { seq: number }) => void

export const digestOf = (value: unknown): string => createHash('sha256').update(stableText(value)).digest('hex')
const same = (one: unknown, other: unknown): boolean => stableText(one) === stableText(other)

/** Content of a decision: what was decided, by whom and why. */
const contentFields =
  'id decision category stakes confidence context reasons alternatives_considered reasoning_trace tags pattern project recorded_by imported_by source_key created_at'
const contentOf = (decision: Fields): Fields =>
  Object.fromEntries(
    contentFields.split(' ').flatMap((name) => (Object.hasOwn(decision, name) ? [[name, decision[name]]] : [])),
  )

export function checkDecision({ decision, decision_sha256, content_sha256, revisions }: Fields, fail: Fail): void {
  if (digestOf(decision) !== decision_sha256) fail('the record is not that of its digest: one of them was changed')
  if (digestOf(contentOf(fieldsIn(decision))) !== content_sha256)
    fail('the content of the decision is not that of its digest')
  for (const { updated_at, old_values, digest } of listIn(revisions))
    if (old_values !== null && digestOf(old_values) !== digest)
      fail(`the values before the update of ${shown(updated_at)} are not those of their digest`)
}

/** The hash of a rule set, computed as its archive does. */
function policyHash({ guardrails, circuit_breakers }: Fields): string {
  const by = (name: string) => (a: Fields, b: Fields) => (shown(a[name]) < shown(b[name]) ? -1 : 1)
  const rules = listIn(guardrails)
    .map(({ file: _, line: __, ...rule }): Fields => ({ ...rule, scope: [rule.scope ?? []].flat() }))
    .sort(by('id'))
  return digestOf({ breakers: listIn(circuit_breakers).sort(by('scope')), rules })
}

/** @returns false if it can't be checked, because the line or the rules are missing */
export function checkVerdict({ decision, trail, policy }: Fields, fail: Fail): boolean {
  const { verdict } = fieldsIn(decision)
  if (!isFields(verdict)) {
    if (isFields(policy)) fail('there are rules, but the decision has no verdict')
    return true
  }
  const line = listIn(trail).find(({ detail }) => fieldsIn(detail).record_id === verdict.record_id)
  if (line) {
    const detail = fieldsIn(line.detail)
    const said: Fields = { allowed: line.allowed, rules: line.rules }
    for (const name of ['verdict', 'policy_hash']) said[name] = detail[name]
    for (const [name, value] of Object.entries(said))
      if (!same(value, verdict[name]))
        fail(`the trail says ${name} ${shown(value)} of the evaluation, the decision ${shown(verdict[name])}`)
  }
  if (isFields(policy)) {
    if (policy.policy_hash !== verdict.policy_hash) fail('the rules are not those that the verdict names')
    if (![policy.guardrails, policy.circuit_breakers].every(Array.isArray)) fail('the rules are not lists')
    if (policyHash(policy) !== policy.policy_hash) fail('the rules do not give their hash: one of them was changed')
  }
  return line !== undefined && isFields(policy)
}

function eventHash(event: Fields): string | null {
  const { seq, ts, source, event_type, evidence_class, prev_hash } = event
  if (!Number.isSafeInteger(seq) || !isHash(prev_hash) || !isFields(event.payload)) return null
  if (typeof ts !== 'string' || typeof source !== 'string' || typeof event_type !== 'string') return null
  if (!isEvidenceClass(evidence_class)) return null
  try {
    const payload = canonicalText(event.payload)
    return recordHash({ seq: seq as number, ts, source, event_type, evidence_class, prev_hash, payload })
  } catch (error) {
    if (error instanceof NotCanonical) return null
    throw error
  }
}

/** Whether each event has its hash, and an act among the receipts says so. */
export function checkEvents({ evidence, receipts }: Fields, fail: Fail): void {
  const acts = new Map(listIn(receipts).map(({ record_id, payload }) => [record_id, fieldsIn(payload)]))
  for (const event of listIn(evidence)) {
    const seq = Number(event.seq)
    const own = eventHash(event)
    if (own === null) fail(`event ${shown(event.seq)} has not the form of an event`, { seq })
    else if (own !== event.hash) fail(`event ${seq} was changed: its content does not match its hash`, { seq })
    const act = acts.get(`evidence/${seq}`)
    if (act === undefined) fail(`event ${shown(event.seq)} has no receipt`, { seq })
    else if (act.seq !== seq || act.hash !== event.hash) fail(`event ${seq} is another one in the ledger`, { seq })
  }
}

const payloadType = 'application/vnd.in-toto+json'
const predicateType = 'pkg:npm/cstp#attestation/agent-decision/v0.1'

/** The statement in a Sigstore bundle, if its signature holds; null if it can't be relied on. */
function openStatement(bundle: unknown, { key, name, id }: NoteKey, fail: Fail): Fields | null {
  const { payload, signatures } = fieldsIn(fieldsIn(bundle).dsseEnvelope)
  const given = listIn(signatures)[0]?.sig
  const [bytes, sig] = [base64(shown(payload)), base64(shown(given))]
  const hint = `${name}+${id}`
  const expected = {
    mediaType: 'application/vnd.dev.sigstore.bundle.v0.3+json',
    verificationMaterial: {
      publicKey: { hint },
      tlogEntries: [],
      timestampVerificationData: { rfc3161Timestamps: [] },
    },
    dsseEnvelope: { payload, payloadType, signatures: [{ sig: given, keyid: hint }] },
  }
  if (!bytes || !sig || !same(bundle, expected)) {
    fail(`it is not a Sigstore bundle of an in-toto statement with one signature, by ${hint}`)
    return null
  }
  const framed = Buffer.concat([Buffer.from(`DSSEv1 ${payloadType.length} ${payloadType} ${bytes.length} `), bytes])
  if (!verify(null, framed, key, sig)) {
    fail('its signature does not match: it was changed, or another key signed it')
    return null
  }
  try {
    return fieldsIn(JSON.parse(bytes.toString()))
  } catch {
    fail('its payload is not JSON')
    return null
  }
}

/** Whether the key signed the statement, and the statement agrees with the dossier. */
export function checkStatement(dossier: Fields, key: NoteKey, fail: Fail): void {
  const statement = openStatement(dossier.statement, key, fail)
  if (statement === null) return
  const { id, verdict, outcome } = fieldsIn(dossier.decision)
  const predicate = fieldsIn(statement.predicate)
  const said = fieldsIn(predicate.verdict)
  const subject = [{ name: `cstp:decision/${shown(id)}`, digest: { sha256: dossier.decision_sha256 } }]
  if (statement.predicateType !== predicateType) fail(`its predicate type is ${shown(statement.predicateType)}`)
  if (!same(statement.subject, subject)) fail('its subject is not the decision of the dossier with its digest')
  if (fieldsIn(predicate.outcome).outcome !== (outcome ?? undefined)) fail('its outcome is not that of the decision')
  if (said.recordId !== (isFields(verdict) ? verdict.record_id : undefined))
    fail('its verdict is not that of the decision')
  const hashes = listIn(predicate.evidence).map(({ seq, hash }) => [seq, hash])
  const own = listIn(dossier.evidence).map(({ seq, hash }) => [seq, `sha256:${shown(hash)}`])
  if (!same(hashes, own)) fail('its evidence is not that of the dossier')
}

const values: Record<string, number> = { success: 1, partial: 0.5, failure: 0 }

/** Whether the score follows from confidence and outcome. */
export function checkScore({ decision, score }: Fields, fail: Fail): void {
  const {
    outcome,
    confidence_at_record: confidence,
    attribution_basis: basis,
    self_reviewed,
    curated,
  } = fieldsIn(decision)
  const reviewer = self_reviewed === true ? 'self' : curated === true ? 'curator' : 'others'
  const settled_by = basis === 'evidence' ? 'observed' : (basis ?? reviewer)
  const value = values[shown(outcome)]
  const scored = value !== undefined && typeof confidence === 'number' && settled_by !== 'age'
  const right = scored ? { confidence, outcome, settled_by, value, brier: (confidence - value) ** 2 } : null
  if (!same(score, right)) fail('the score does not follow from the confidence at recording and the outcome')
}

/** The digest by which an act names a trail line: over its members in this order, those of the detail in stored order. */
function lineDigest({ at, agent, method, request_id, ids, allowed, rules, detail }: Fields): string {
  const members = [at, agent, method, request_id, ids, allowed, rules, detail ?? null]
  return createHash('sha256').update(JSON.stringify(members)).digest('hex')
}

/**
 * Whether the last state of the decision is its record, and the lines of the trail are those that the acts name.
 * @returns false if some of the acts or lines needed for this are missing
 */
export function checkActs({ receipts, trail, decision, decision_sha256 }: Fields, fail: Fail): boolean {
  const payloads = listIn(receipts).map(({ payload }) => fieldsIn(payload))
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
  return last !== undefined && missing.length === 0 && lines.every(({ digest }) => named.has(digest))
}
