/** Evidence bundles, as other programs read them. A bundle is one line of canonical JSON (RFC 8785). */
import * as v from 'valibot'
import { ControlFile } from './control.ts'
import { Coverage, EvidenceClass, Hash as hash } from './evidence.ts'
import { dataFormat } from './format.ts'

const d = v.description
const pr_number = v.pipe(v.nullable(v.number()), d('Pull request in the payload.'))
const control = {
  framework: v.string(),
  function_id: v.string(),
  control_name: v.string(),
  evidence_class: EvidenceClass,
  seq: v.number(),
  pr_number,
}

/** A bundle of evidence: one line of canonical JSON. */
export const BundleFile = v.strictObject({
  attested_only_controls: v.pipe(
    v.array(v.string()),
    d('Controls supported by attested events but by no observed event.'),
  ),
  bundle_format: v.literal(dataFormat),
  bundle_id: v.pipe(
    v.string(),
    d('Random; the only difference between two bundles of the same chain at the same time.'),
  ),
  chain_format: v.pipe(v.literal(3), d('Formula of the hashes.')),
  chain_head_hash: v.pipe(hash, d('Hash of the last event; 64 zeros if there is none.')),
  chain_intact: v.literal(true),
  chain_root_hash: v.pipe(hash, d('Root of the RFC 9162 Merkle tree over the hashes.')),
  chain_size: v.pipe(v.number(), d('Number of events.')),
  checkpoint: v.strictObject({
    note: v.pipe(v.string(), d('C2SP signed note of a tlog-checkpoint: log, size, root.')),
    verifier_key: v.pipe(v.string(), d('C2SP verifier key of the log.')),
  }),
  control_rules: v.pipe(
    v.array(v.strictObject({ ...ControlFile.entries, digest: hash })),
    d('The rules that mapped the events; the digest is the SHA-256 of the other members as canonical JSON.'),
  ),
  coverage: Coverage,
  decisions: v.pipe(
    v.array(
      v.strictObject({
        content_sha256: v.pipe(
          v.nullable(hash),
          d('SHA-256 of its content as canonical JSON; null if it does not exist now.'),
        ),
        id: v.string(),
        linked: v.pipe(
          v.array(v.strictObject({ content_sha256: v.nullable(hash), seq: v.number() })),
          d('Each event that links it, with the digest of its content at that time; null if it was not stored.'),
        ),
        sha256: v.pipe(v.nullable(hash), d('SHA-256 of its record as canonical JSON; null if it does not exist now.')),
      }),
    ),
    d('Decisions that events link to.'),
  ),
  events: v.pipe(
    v.array(
      v.strictObject({
        event_type: v.string(),
        evidence_class: EvidenceClass,
        hash: v.pipe(hash, d('SHA-256 of the canonical JSON of the other seven fields.')),
        payload: v.record(v.string(), v.unknown()),
        prev_hash: v.pipe(hash, d('Hash of the previous event; 64 zeros for the first.')),
        seq: v.pipe(v.number(), d('From 1, without gaps.')),
        source: v.string(),
        ts: v.pipe(v.string(), d('RFC 3339, as it was reported.')),
      }),
    ),
    d('The whole chain.'),
  ),
  generated_at: v.pipe(v.string(), d('RFC 3339, UTC.')),
  insufficient_evidence: v.array(
    v.strictObject({ ...control, reason: v.string(), type: v.literal('INSUFFICIENT_EVIDENCE') }),
  ),
  insufficient_evidence_count: v.number(),
  mappings: v.array(
    v.strictObject({
      ...control,
      event_type: v.string(),
      rule_id: v.string(),
      stage: v.string(),
      type: v.literal('mapping'),
    }),
  ),
  policy_hash: v.pipe(hash, d('SHA-256 of the guardrails in force when the bundle was created.')),
  service_version: v.string(),
  signature: v.pipe(
    v.string(),
    d('C2SP signed note by the key of the log over the SHA-256 of this file without the member `signature`.'),
  ),
  unmapped: v.array(
    v.strictObject({ event_type: v.string(), evidence_class: EvidenceClass, pr_number, seq: v.number() }),
  ),
})
