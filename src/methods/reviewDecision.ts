/** cstp.reviewDecision: records the outcome of a decision. */
import * as v from 'valibot'
import { Outcome, Status, settlements, text } from '../../sdk/schema/decision.ts'
import { DecisionId, ThreadId } from '../../sdk/schema/params.ts'
import { settledBy } from '../../sdk/storage/fields.ts'
import { byCurators, defineMethod, toolInput } from '../calls/method.ts'
import { review, reviewByHistory } from '../domain/lifecycle/review.ts'
import { stateId } from '../domain/record/act-ids.ts'
import { pathOf } from '../domain/record/decision/decision.ts'
import { resolveId } from '../domain/record/decision/lookup.ts'
import { missing } from '../domain/record/decision/tombstone.ts'

const note = (about: string) => v.pipe(v.nullish(text(10_000), null), v.description(about))

export const reviewDecision = defineMethod({
  summary:
    'Records the actual outcome of a decision. Fields that a later review leaves out keep their values. A curator with a reason outweighs evidence, evidence another agent, another agent the recorder; a review that is outweighed is kept as a remark.',
  params: v.object({
    decision_id: DecisionId,
    outcome: v.pipe(Outcome, v.description('The outcome.')),
    actual_result: note('What happened.'),
    lessons: note('What to do differently next time; found by keyword search.'),
    notes: note('Anything else. From a curator, `notes` or `actual_result` is the reason that outweighs evidence.'),
    basis: v.pipe(
      v.nullish(v.literal('evidence'), null),
      v.description(
        'Import only (scope admin): the history of a repository shows the outcome, for a decision with source `git` and without confidence; `actual_result` says how.',
      ),
    ),
  }),
  result: v.object({
    success: v.boolean(),
    decision_id: v.string(),
    record_id: ThreadId,
    path: v.optional(v.pipe(v.string(), v.description('Path of its YAML file; absent if the store has none.'))),
    status: Status,
    outcome: v.pipe(Outcome, v.description('The effective outcome of the decision.')),
    counts: v.pipe(
      v.boolean(),
      v.description('Whether this review determines the outcome. If not, it is kept as a remark in `review_history`.'),
    ),
    settled_by: v.pipe(v.picklist(settlements), v.description('Who settled the effective outcome.')),
    counted_by: v.optional(
      v.pipe(v.string(), v.description('Author of the review that counts; only if it is not this one.')),
    ),
    reviewed_at: v.pipe(v.string(), v.description('Time of the effective review, RFC 3339, UTC.')),
    indexed: v.boolean(),
  }),
  scope: 'write',
  also: byCurators,
  effect: 'write',
  keeps_texts: true,
  mcp: {
    name: 'review_outcome',
    title: 'Review outcome',
    description:
      'Record the outcome once it is known, with what happened and the lesson. Precedents and calibration depend on it; ready lists due reviews. `counts: false`: kept as a remark.',
    input: toolInput(
      v.object({
        id: v.pipe(DecisionId, v.description('Full id, or its first 8 hex digits.')),
        outcome: v.pipe(Outcome, v.description('The outcome; `abandoned` if it was never tried.')),
        actual_result: note('What happened.'),
        lessons: note('What to do differently next time.'),
        notes: note('Anything else.'),
      }),
      ({ id, ...rest }) => ({ decision_id: id, ...rest }),
    ),
  },
  failure: 'review_failed',
  async handle(call, { decision_id, basis, ...given }) {
    const id = await resolveId(call.store.decisions, decision_id, 'decision_id')
    const reviewed = await (basis === null ? review(call, id, given) : reviewByHistory(call, id, given))
    if (!reviewed) throw await missing(call.store.keyed, id, decision_id)
    const { record, indexed, revision, counts, counted_by } = reviewed
    return {
      success: true,
      decision_id: id,
      record_id: stateId(id, revision),
      ...(call.store.decision_files && { path: pathOf(id) }),
      status: record.status,
      outcome: record.outcome!,
      counts,
      settled_by: settledBy(record)!,
      ...(!counts && { counted_by }),
      reviewed_at: record.reviewed_at!,
      indexed,
    }
  },
})
