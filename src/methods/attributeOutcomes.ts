/** cstp.attributeOutcomes: settles pending decisions by the outcome of their pull requests. */
import * as v from 'valibot'
import { invalidParam } from '../../sdk/errors.ts'
import { AttributionBasis, nonEmptyText, Outcome } from '../../sdk/schema/decision.ts'
import { boundMs, whole } from '../../sdk/schema/params.ts'
import { defineMethod } from '../calls/method.ts'
import { dayMs } from '../core/time.ts'
import { attributePending } from '../domain/lifecycle/attribution.ts'

const d = v.description

/** Start of the look-back period, from `<n>d` or a date. */
function sinceMs(since: string, now_ms: number): number {
  const days = /^([1-9]\d{0,4})d$/.exec(since)?.[1]
  const ms = days === undefined ? boundMs(since, false) : now_ms - Number(days) * dayMs
  if (ms !== null) return ms
  throw invalidParam('since', 'a number of days such as 30d, or an ISO 8601 date', since)
}

export const attributeOutcomes = defineMethod({
  summary: 'Attributes outcomes to decisions based on evidence from their pull requests.',
  params: v.object({
    project: v.pipe(nonEmptyText(256), d('Project name.')),
    since: v.pipe(v.optional(v.string(), '30d'), d('Look-back: a number of days, or a date.')),
    stability_days: v.pipe(
      v.optional(whole(0, 3_650)),
      d(
        'Days after which a merged pull request counts as stable. Default: 7, or the minimum set by the operator if it is higher. A value below the minimum needs the scope admin.',
      ),
    ),
    dry_run: v.pipe(
      v.optional(v.boolean(), false),
      d(
        'Dry run: returns the result without writing anything; without the scope curate or admin, only of own decisions.',
      ),
    ),
  }),
  result: v.object({
    processed: v.pipe(
      v.number(),
      d('Pending decisions with a pull request, and attributed ones whose outcome is corrected by evidence.'),
    ),
    attributed: v.pipe(v.number(), d('Decisions that received an outcome, or would receive one in a dry run.')),
    skipped: v.pipe(v.number(), d('Decisions whose outcome cannot be determined yet.')),
    dry_run: v.pipe(v.boolean(), d('Whether nothing was written.')),
    decisions: v.array(
      v.object({
        id: v.string(),
        pr: v.pipe(v.number(), d('Pull request number.')),
        outcome: v.pipe(v.nullable(Outcome), d('Null if it was skipped.')),
        basis: v.pipe(AttributionBasis, d('Basis of the outcome.')),
        reason: v.string(),
        applied: v.pipe(v.boolean(), d('Whether it was written.')),
      }),
    ),
  }),
  scope: 'write',
  effect: 'write',
  cost: 16,
  failure: 'attribution_failed',
  async handle(call, { project, since, stability_days: wanted, dry_run }) {
    const { min_stability_days, by_age } = call.attribution
    const stability_days = wanted ?? Math.max(7, min_stability_days)
    if (stability_days < min_stability_days && !call.caller.scopes.has('admin')) {
      throw invalidParam(
        'stability_days',
        `at least ${min_stability_days}, unless with the scope admin`,
        String(stability_days),
      )
    }
    const created_from_ms = sinceMs(since, call.now())
    const decisions = await attributePending(call, { project, created_from_ms, stability_days, by_age, dry_run })
    const attributed = decisions.filter(({ outcome }) => outcome !== null).length
    return { processed: decisions.length, attributed, skipped: decisions.length - attributed, dry_run, decisions }
  },
})
