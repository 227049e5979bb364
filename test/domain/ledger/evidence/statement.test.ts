/** Statements about decisions: what they say, and that the verifier of the Sigstore project accepts them and none that was changed. */
import { describe, expect, test } from 'bun:test'
import { createHash, generateKeyPairSync } from 'node:crypto'
import type { DecisionRecord } from '../../../../sdk/schema/decision.ts'
import { canonical } from '../../../../src/core/canonical.ts'
import { signerOf } from '../../../../src/domain/ledger/engine/note.ts'
import {
  decisionStatement,
  predicateType,
  signEnvelope,
  signStatement,
  statementType,
} from '../../../../src/domain/ledger/evidence/statement.ts'
import { verifyWithSigstore } from '../../../support/evidence/sigstore.ts'
import * as fc from '../../../support/property.ts'
import { recordOf } from '../../../support/record.ts'

const signer = signerOf('log.test/a', generateKeyPairSync('ed25519').privateKey)
const other = signerOf('log.test/a', generateKeyPairSync('ed25519').privateKey)
const approval = {
  id: '7F3K-Q2MX',
  state: 'approved' as const,
  decided_by: 'carol',
  decided_at: '2026-07-01T12:05:00.000Z',
  rules: [{ guardrail_id: 'ask', name: 'ask', message: 'm', text: '{}' }],
}
const event = { seq: 3, event_type: 'pr_merged', evidence_class: 'observed' as const, hash: 'ab'.repeat(32) }
const factsOf = (record: DecisionRecord, approvals = [approval]) => ({ record, approvals, evidence: [event] })
type Statement = { subject: { name: string; digest: { sha256: string } }[]; predicate: Record<string, unknown> }
const said = (record: DecisionRecord, approvals = [approval]) =>
  decisionStatement(factsOf(record, approvals)) as unknown as Statement
const signed = signStatement(signer, factsOf(recordOf({ outcome: 'success', self_reviewed: false })))
const payloadOf = ({ dsseEnvelope }: typeof signed) => Buffer.from(dsseEnvelope.payload, 'base64').toString()

test('the subject is the SHA-256 of the record as canonical JSON', () => {
  const record = recordOf()
  const sha256 = createHash('sha256')
    .update(canonical(JSON.parse(JSON.stringify(record))))
    .digest('hex')
  const { subject, predicate } = said(record)
  expect(subject).toEqual([{ name: `cstp:decision/${record.id}`, digest: { sha256 } }])
  expect(predicate).toMatchObject({ record: { id: record.id, payloadHash: `sha256:${sha256}` } })
  expect(said({ ...record, lessons: 'another' }).subject[0]!.digest.sha256).not.toBe(sha256)
})

test('a human answer is there only if a person gave one, and a denial overrules the agent', () => {
  const record = recordOf()
  expect(said(record, []).predicate).not.toHaveProperty('humanOversight')
  expect(said(record, [{ ...approval, decided_by: null as never, state: 'approved' }]).predicate).not.toHaveProperty(
    'humanOversight',
  )
  const denied = { ...approval, state: 'denied' as never, decided_by: 'dave', decided_at: '2026-07-01T12:06:00.000Z' }
  expect(said(record, [denied, approval]).predicate.humanOversight).toMatchObject({
    reviewed: true,
    overrodeAgent: true,
    reviewerRef: 'dave',
    authority: 'scope approve, asked by ask, approval 7F3K-Q2MX',
  })
})

test('a confidence that was not given and an outcome that is not known are absent', () => {
  const { predicate } = said(recordOf({ confidence: null, confidence_at_record: null }))
  expect(predicate.decision).not.toHaveProperty('confidence')
  expect(predicate).not.toHaveProperty('outcome')
  expect(predicate).not.toHaveProperty('verdict')
})

describe('the verifier of Sigstore', () => {
  test('accepts every statement', () => {
    verifyWithSigstore(signed, signer.verifier_key)
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.option(fc.string({ unit: 'binary' })), (decision, context) => {
        verifyWithSigstore(signStatement(signer, factsOf(recordOf({ decision, context }))), signer.verifier_key)
      }),
      { numRuns: 50 },
    )
  })

  const changed = (change: (statement: Statement) => void): typeof signed => {
    const statement = JSON.parse(payloadOf(signed))
    change(statement)
    const payload = Buffer.from(canonical(statement)).toString('base64')
    return { ...signed, dsseEnvelope: { ...signed.dsseEnvelope, payload } }
  }
  const forgeries: [string, unknown][] = [
    ['another outcome', changed(({ predicate }) => Object.assign(predicate, { outcome: { outcome: 'failure' } }))],
    ['another subject', changed(({ subject }) => Object.assign(subject[0]!.digest, { sha256: 'f'.repeat(64) }))],
    [
      'another predicate type',
      changed((statement) => Object.assign(statement, { predicateType: `${predicateType}1` })),
    ],
    ['another payload type', { ...signed, dsseEnvelope: { ...signed.dsseEnvelope, payloadType: `${statementType}x` } }],
    ['another key under the same name', signStatement(other, factsOf(recordOf()))],
    [
      'the hint of another key',
      {
        ...signed,
        verificationMaterial: { ...signed.verificationMaterial, publicKey: { hint: 'log.test/b+00000000' } },
      },
    ],
    ['no signature', { ...signed, dsseEnvelope: { ...signed.dsseEnvelope, signatures: [] } }],
  ]
  test.each(forgeries)('refuses %s', (_, forged) => {
    expect(() => verifyWithSigstore(forged, signer.verifier_key)).toThrow()
  })

  test('refuses a payload with any bit changed', () => {
    const bytes = Buffer.from(signed.dsseEnvelope.payload, 'base64')
    fc.assert(
      fc.property(fc.nat(bytes.length * 8 - 1), (bit) => {
        const flipped = Buffer.from(bytes)
        flipped[bit >> 3]! ^= 1 << (bit & 7)
        const payload = flipped.toString('base64')
        const forged = { ...signed, dsseEnvelope: { ...signed.dsseEnvelope, payload } }
        expect(() => verifyWithSigstore(forged, signer.verifier_key)).toThrow()
      }),
    )
  })
})

test('a signed note is no envelope: a payload that ends like one is not signed', () => {
  expect(() => signEnvelope(signer, statementType, 'log.test/a\n3\nroot\n')).toThrow()
})
