/** Result shapes of verifications and mappings, in answers and in bundles. */
import * as v from 'valibot'

const d = v.description

const EvidenceClass = v.pipe(
  v.picklist(['observed', 'attested']),
  d(
    '`observed` by a third party, or `attested` by an agent about itself. What the service `inferred` is in no mapping.',
  ),
)
const Pr = v.pipe(v.nullable(v.number()), d('Pull request in the payload.'))
const Seq = v.pipe(v.number(), d('Number of the event in the chain.'))
const EventType = v.pipe(v.string(), d('Type of the event.'))
const Framework = v.pipe(v.string(), d('Framework of the control.'))
const FunctionId = v.pipe(v.string(), d('Identifier of the control.'))
const ControlName = v.pipe(v.string(), d('Name of the control.'))

export const Mapping = v.object({
  seq: Seq,
  event_type: EventType,
  pr_number: Pr,
  rule_id: v.pipe(v.string(), d('The rule that produced the mapping.')),
  framework: Framework,
  stage: v.pipe(v.string(), d('Part of the framework that the control belongs to.')),
  function_id: FunctionId,
  control_name: ControlName,
  evidence_class: EvidenceClass,
  type: v.pipe(v.literal('mapping'), d('Kind of the entry.')),
})

export const Shortfall = v.object({
  seq: Seq,
  pr_number: Pr,
  framework: Framework,
  function_id: FunctionId,
  control_name: ControlName,
  evidence_class: EvidenceClass,
  type: v.pipe(v.literal('INSUFFICIENT_EVIDENCE'), d('Kind of the entry.')),
  reason: v.pipe(v.string(), d('Why the event does not support the control, in plain language.')),
})

export const Unmapped = v.object({ seq: Seq, event_type: EventType, pr_number: Pr, evidence_class: EvidenceClass })

/** The result of a verification of the chain. */
export const Verification = v.object({
  intact: v.pipe(v.boolean(), d('Whether the chain is intact.')),
  broken_at_seq: v.pipe(
    v.nullable(v.number()),
    d('The first record that does not follow its predecessor; null if there is none, even if the chain was truncated.'),
  ),
  head_hash: v.pipe(v.string(), d('Hash of the last record; 64 zeros for an empty chain.')),
  expected_hash: v.pipe(v.nullable(v.string()), d('The hash that was searched for; null if none.')),
  tail_check: v.pipe(v.boolean(), d('Whether a hash was searched for.')),
  reason: v.pipe(v.nullable(v.string()), d('The damage found; null if there is none.')),
  records: v.pipe(v.number(), d('Number of intact records from the start.')),
})
export type Verification = v.InferOutput<typeof Verification>
