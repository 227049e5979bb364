/** cstp.mapControls: which controls the evidence supports, and where it is insufficient. */
import * as v from 'valibot'
import { Coverage } from '../../sdk/schema/evidence.ts'
import { shortened, whole } from '../../sdk/schema/params.ts'
import { defineMethod } from '../calls/method.ts'
import { JsonText, maxAnswerBytes } from '../calls/page.ts'
import { mapEvidence } from '../domain/ledger/evidence/controls.ts'
import { mappedText } from '../domain/ledger/evidence/mapped-text.ts'
import { Mapping, Shortfall, Unmapped } from '../domain/ledger/evidence/results.ts'

const d = v.description

export const mapControls = defineMethod({
  summary:
    'Applies the control rules to all evidence: the controls that it supports, by class, and the reasons if it is insufficient.',
  params: v.object({
    seq_from: v.pipe(
      v.optional(whole(1, Number.MAX_SAFE_INTEGER), 1),
      d('Number of the first event in the lists; `next_seq` of the previous page. The figures cover all events.'),
    ),
  }),
  result: v.object({
    coverage: Coverage,
    mappings: v.pipe(v.array(Mapping), d('Sorted by `seq`, then in the order of the rules.')),
    insufficient_evidence: v.pipe(
      v.array(Shortfall),
      d('Controls that an event should support but does not, by `seq`.'),
    ),
    insufficient_evidence_count: v.pipe(v.number(), d('Number of such cases over all events.')),
    next_seq: v.pipe(v.nullable(v.number()), d('Number of the event to continue from; null on the last page.')),
    shortened,
    unmapped: v.pipe(v.array(Unmapped), d('Events without a mapping, by `seq`.')),
    attested_only_controls: v.pipe(v.array(v.string()), d('Controls supported only by attested evidence, ascending.')),
  }),
  scope: 'read',
  effect: 'read',
  cost: 32,
  async handle({ evidence, controls, yieldToEventLoop }, { seq_from }) {
    const { seq } = await evidence.head()
    const mapped = await mapEvidence(evidence, controls, seq, yieldToEventLoop)
    return new JsonText(mappedText(mapped, { seq_from, max_bytes: maxAnswerBytes }))
  },
})
