/** cstp.mapControls: which controls the evidence supports, and where it is insufficient. */
import * as v from 'valibot'
import { Coverage } from '../../sdk/schema/evidence.ts'
import { defineMethod } from '../calls/method.ts'
import type { Call } from '../calls/services.ts'
import { mapEvidence } from '../domain/evidence/controls.ts'
import { mappedText } from '../domain/evidence/mapped-text.ts'
import { Mapping, Shortfall, Unmapped } from '../domain/evidence/results.ts'

const d = v.description

async function text({ evidence, controls, breathe }: Call): Promise<Iterable<string>> {
  const { seq } = await evidence.head()
  return mappedText(await mapEvidence(evidence, controls, seq, breathe))
}

export const mapControls = defineMethod({
  summary:
    'Runs the control rules over all evidence: which controls it supports, by class, and where it is insufficient and why.',
  params: v.object({}),
  result: v.object({
    coverage: Coverage,
    mappings: v.pipe(v.array(Mapping), d('By `seq`, then in the order of the rules.')),
    insufficient_evidence: v.pipe(
      v.array(Shortfall),
      d('Controls that an event should support and does not, by `seq`.'),
    ),
    insufficient_evidence_count: v.pipe(v.number(), d('Length of `insufficient_evidence`.')),
    unmapped: v.pipe(v.array(Unmapped), d('Events without a mapping, by `seq`.')),
    attested_only_controls: v.pipe(v.array(v.string()), d('Controls that only attested evidence supports, ascending.')),
  }),
  scope: 'read',
  effect: 'read',
  failure: 'internal_error',
  async handle(call) {
    return JSON.parse([...(await text(call))].join(''))
  },
  json: text,
})
