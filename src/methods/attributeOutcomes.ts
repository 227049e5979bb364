/** cstp.attributeOutcomes: settles pending decisions by what became of their pull requests. */
import * as v from 'valibot'
import { invalidParams } from '../../sdk/errors.ts'
import { AttributionBasis, type DecisionRecord, filledText, Outcome } from '../../sdk/schema/decision.ts'
import { boundMs, whole } from '../../sdk/schema/params.ts'
import { defineMethod } from '../calls/method.ts'
import { audit, type Call, timestamp } from '../calls/services.ts'
import { type Attribution, attribute, pullRequestHistory } from '../domain/decision/attribution.ts'
import { linkContradictions } from '../domain/decision/contradictions.ts'
import { applyReview } from '../domain/decision/decision.ts'
import { reviewCounts, subjectOf } from '../domain/guardrail/breaker.ts'
import { guardOf } from '../domain/guardrail/guard.ts'
import type { PolicySet } from '../domain/guardrail/set.ts'

const d = v.description
const dayMs = 86_400_000
const page = 200

/** The start of the look-back: `<n>d` or a date. */
function sinceMs(since: string, now_ms: number): number {
  const days = /^([1-9]\d{0,4})d$/.exec(since)?.[1]
  const ms = days === undefined ? boundMs(since, false) : now_ms - Number(days) * dayMs
  if (ms !== null) return ms
  const expected = 'a number of days such as 30d, or an ISO 8601 date'
  throw invalidParams({ path: 'since', message: `expected ${expected}`, expected, received: since.slice(0, 100) })
}

/** Pending decisions of the project with a pull request, oldest first. One page is held at a time; those settled meanwhile skip none. */
async function* candidates({ store }: Call, project: string, created_from_ms: number): AsyncGenerator<DecisionRecord> {
  for (let after: DecisionRecord | undefined; ; ) {
    const { records } = await store.decisions.list({
      filter: { project, status: ['pending'], created_from_ms },
      sort: 'created_at',
      order: 'asc',
      ...(after && { after }),
      offset: 0,
      limit: page,
    })
    yield* records.filter(({ project: own }) => own?.pr != null)
    after = records.at(-1)
    if (records.length < page || after === undefined) return
  }
}

/** Records the outcome, unless the decision was reviewed meanwhile. Breakers are told in the same transaction. */
async function settle(
  call: Call,
  policy: PolicySet,
  id: string,
  { outcome, basis, reason }: Attribution,
): Promise<boolean> {
  const settled = await call.store.transaction(async (tx) => {
    const found = await tx.decisions.get(id)
    if (found?.record.status !== 'pending' || outcome === null) return null
    const review = { outcome, actual_result: null, lessons: null, notes: reason }
    const reviewed = applyReview(found.record, review, call.caller.agent, timestamp(call.now()))
    const record = { ...reviewed, auto_attributed: true, attribution_basis: basis, attribution_reason: reason }
    await tx.decisions.update(record, found.revision)
    if (reviewCounts(found.record)) await guardOf(call, policy, subjectOf(found.record)).reviewed(tx, id, outcome)
    await audit(call, tx, [id], { outcome, basis, reason })
    return record
  })
  if (settled) await linkContradictions(call, settled)
  return settled !== null
}

export const attributeOutcomes = defineMethod({
  summary: 'Attributes outcomes to pending decisions by the stability of their pull requests.',
  params: v.object({
    project: v.pipe(filledText(256), d('Project name.')),
    since: v.pipe(v.optional(v.string(), '30d'), d('Look-back: a number of days, or a date.')),
    stability_days: v.pipe(
      v.optional(whole(0, 3_650), 7),
      d('Days after which a merged pull request counts as stable.'),
    ),
    dry_run: v.pipe(v.optional(v.boolean(), false), d('Only show what would be done.')),
  }),
  result: v.object({
    processed: v.pipe(v.number(), d('Pending decisions with a pull request.')),
    attributed: v.pipe(v.number(), d('Decisions that got an outcome, or would get one.')),
    skipped: v.pipe(v.number(), d('Decisions that can not be settled yet.')),
    dry_run: v.pipe(v.boolean(), d('Whether nothing was written.')),
    decisions: v.array(
      v.object({
        id: v.string(),
        pr: v.pipe(v.number(), d('Pull request number.')),
        outcome: v.pipe(v.nullable(Outcome), d('Null where it was skipped.')),
        basis: v.pipe(AttributionBasis, d('What it was settled by.')),
        reason: v.string(),
        applied: v.pipe(v.boolean(), d('Whether it was written.')),
      }),
    ),
  }),
  scope: 'write',
  effect: 'write',
  failure: 'attribution_failed',
  async handle(call, { project, since, stability_days, dry_run }) {
    const policy = await call.policy.current()
    const decisions = []
    for await (const record of candidates(call, project, sinceMs(since, call.now()))) {
      const history = await pullRequestHistory(call.evidence, project, record.project?.pr ?? 0)
      const found = attribute(record, history, stability_days, call.now())
      const applied = !dry_run && found.outcome !== null && (await settle(call, policy, record.id, found))
      decisions.push({ id: record.id, pr: record.project?.pr ?? 0, ...found, applied })
    }
    const attributed = decisions.filter(({ outcome }) => outcome !== null).length
    return { processed: decisions.length, attributed, skipped: decisions.length - attributed, dry_run, decisions }
  },
})
