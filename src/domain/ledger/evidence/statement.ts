/**
 * A decision as an in-toto statement. The predicate type is our own and not registered; fields that mean the same as in the open proposal
 * in-toto/attestation#591 have the names used there. Unknown values are absent, which claims nothing.
 * @see in-toto Attestation Framework, Statement v1
 */
import type { Approval } from '../../../../sdk/schema/approval.ts'
import type { DecisionRecord } from '../../../../sdk/schema/decision.ts'
import type { EvidenceRecord } from '../../../../sdk/storage/evidence.ts'
import { settlerOf } from '../../../../sdk/storage/fields.ts'
import { canonical } from '../../../core/canonical.ts'
import type { Signer } from '../engine/note.ts'
import { contentDigest, recordDigest } from './content.ts'

/** A change in the meaning of a field requires a new version. */
export const predicateType = 'pkg:npm/cstp#attestation/agent-decision/v0.1'
export const statementType = 'application/vnd.in-toto+json'

/** What a statement is made from. */
interface StatementFacts {
  record: DecisionRecord
  /** Approvals of the evaluation that it was recorded with; absent if they are not looked up. */
  approvals?: readonly Pick<Approval, 'id' | 'state' | 'decided_by' | 'decided_at' | 'rules'>[]
  /** Events that are linked to it, and the records of these links; absent if they are not looked up. */
  evidence?: readonly Pick<EvidenceRecord, 'seq' | 'event_type' | 'evidence_class' | 'hash'>[]
}

/** The members that have a value. */
const known = (members: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== null && value !== undefined))

const sha256 = (hex: string): string => `sha256:${hex}`

/** The latest answer of a person to a request for approval. */
function oversight(approvals: NonNullable<StatementFacts['approvals']>): Record<string, unknown> | null {
  const answered = approvals
    .filter(({ decided_by }) => decided_by !== null)
    .toSorted((a, b) => (a.decided_at! < b.decided_at! ? -1 : 1))
    .at(-1)
  if (!answered) return null
  const rules = answered.rules.map(({ guardrail_id }) => guardrail_id).join(', ')
  return {
    reviewed: true,
    overrodeAgent: answered.state === 'denied',
    reviewerRef: answered.decided_by,
    authority: `scope approve, asked by ${rules}, approval ${answered.id}`,
    reviewedAt: answered.decided_at,
  }
}

function predicate({ record, approvals, evidence }: StatementFacts): Record<string, unknown> {
  const { verdict } = record
  return known({
    decision: known({
      agentId: record.recorded_by,
      agentName: record.recorded_by,
      eventType: record.category ?? 'decision',
      stakes: record.stakes,
      decidedAt: record.created_at,
      input: record.context ?? '',
      output: record.decision,
      confidence: record.confidence_at_record,
    }),
    humanOversight: approvals && oversight(approvals),
    verdict: verdict && {
      allowed: verdict.allowed,
      verdict: verdict.verdict,
      rules: verdict.rules,
      policyHash: sha256(verdict.policy_hash),
      recordId: verdict.record_id,
    },
    evidence: evidence?.map(({ seq, event_type, evidence_class, hash }) => ({
      seq,
      eventType: event_type,
      evidenceClass: evidence_class,
      hash: sha256(hash),
    })),
    outcome:
      record.outcome &&
      known({
        outcome: record.outcome,
        settledBy: settlerOf(record),
        reviewerRef: record.reviewed_by,
        reviewedAt: record.reviewed_at,
        actualResult: record.actual_result,
      }),
    record: {
      id: record.id,
      schemaVersion: '1',
      payloadHash: sha256(recordDigest(record)),
      contentHash: sha256(contentDigest(record)),
    },
    claims,
  })
}

/** The statement; its subject is the current record as canonical JSON. */
export const decisionStatement = (facts: StatementFacts): Record<string, unknown> => ({
  _type: 'https://in-toto.io/Statement/v1',
  subject: [{ name: `cstp:decision/${facts.record.id}`, digest: { sha256: recordDigest(facts.record) } }],
  predicateType,
  predicate: predicate(facts),
})

/** The signed statement. Ed25519 and canonical JSON: equal records give equal bytes. */
export const signStatement = (signer: Pick<Signer, 'key_name' | 'signBytes'>, facts: StatementFacts): SigstoreBundle =>
  signEnvelope(signer, statementType, canonical(decisionStatement(facts)))

// What every export says about itself: what it rests on, and what it does not claim.

/** The same words in every export, so that no format seems to claim more than another. */
export const claims = [
  'It is signed with the key of this service, and its times are those of the clock of this service.',
  'Only the cosignature of a witness, if a checkpoint carries one, is the word of somebody else.',
  'Observed events are as reliable as their sources; attested ones and decisions are self-reported.',
  'It is evidence for controls. It does not show that a control is effective, and nothing is certified by it.',
] as const

// DSSE envelopes in Sigstore bundles, so that other verifiers can check what the key of a log signed.

/** A Sigstore bundle around one DSSE envelope, without a certificate, an entry of a public log or a third party's timestamp. */
interface SigstoreBundle {
  mediaType: 'application/vnd.dev.sigstore.bundle.v0.3+json'
  verificationMaterial: {
    /** Names the key; the key itself has to come from elsewhere. */
    publicKey: { hint: string }
    tlogEntries: []
    timestampVerificationData: { rfc3161Timestamps: [] }
  }
  dsseEnvelope: {
    /** Base64. */
    payload: string
    payloadType: string
    signatures: [{ sig: string; keyid: string }]
  }
}

/**
 * The signed bytes. They begin with `DSSEv1` and don't end in a newline, as every signed note does: one key can sign both, and neither
 * can be mistaken for the other.
 */
const preAuthEncoding = (type: string, payload: Buffer): Buffer =>
  Buffer.concat([Buffer.from(`DSSEv1 ${Buffer.byteLength(type)} ${type} ${payload.length} `), payload])

/** @param text payload, which must not end in a newline */
export function signEnvelope(
  signer: Pick<Signer, 'key_name' | 'signBytes'>,
  type: string,
  text: string,
): SigstoreBundle {
  if (text.endsWith('\n')) throw new Error('a payload that ends like a signed note')
  const payload = Buffer.from(text)
  const sig = signer.signBytes(preAuthEncoding(type, payload)).toString('base64')
  return {
    mediaType: 'application/vnd.dev.sigstore.bundle.v0.3+json',
    verificationMaterial: {
      publicKey: { hint: signer.key_name },
      tlogEntries: [],
      timestampVerificationData: { rfc3161Timestamps: [] },
    },
    dsseEnvelope: {
      payload: payload.toString('base64'),
      payloadType: type,
      signatures: [{ sig, keyid: signer.key_name }],
    },
  }
}
