/** What an update may no longer change once others know how it went, and the breakers whose scopes it brings a decision into. */
import { CstpError, invalidParams } from '../../../sdk/errors.ts'
import type { Condition, TemporalCondition } from '../../../sdk/schema/condition.ts'
import type { DecisionRecord } from '../../../sdk/schema/decision.ts'
import type { Evidence } from '../../../sdk/storage/evidence.ts'
import { skeleton } from '../../../sdk/storage/skeleton.ts'
import type { KeyedReader, Transaction } from '../../../sdk/storage/store.ts'
import { type Caller, mayCurate } from '../../core/caller.ts'
import { hourMs, timestamp } from '../../core/time.ts'
import { countReview, startProbes, watching } from '../policy/judge/breakers.ts'
import type { PolicySet } from '../policy/rules/set.ts'
import { keptCommits, pullRequestOf, recordsOfCommit } from '../record/decision/commits.ts'
import { isUnadopted } from '../record/decision/decision.ts'
import { countedReview } from '../record/decision/outcome.ts'
import { standing } from '../record/decision/overruled.ts'
import type { Updates } from '../record/decision/revisions.ts'
import { recordsOf } from './pull-request.ts'
import type { RecordPolicyCall } from './record-policy.ts'
import { eventOf, limitedTo } from './review.ts'

/** The fields by which a decision is found. */
const texts = ['decision', 'context', 'tags', 'pattern', 'reasons', 'bridge'] as const

/** Whether somebody else than the recorder said how it went: another agent, a curator, or evidence. */
const isReviewedByOthers = ({ review_history }: DecisionRecord): boolean =>
  review_history.some(({ self_reviewed, basis }) => !self_reviewed && basis !== 'age')

/**
 * A failure is found by the words that described it, so its recorder can't replace them after others reviewed it.
 * @throws CstpError `forbidden`
 */
export function requireUnreviewed(record: DecisionRecord, updates: Updates, caller: Caller): void {
  const changed = texts.filter((field) => updates[field] !== undefined)
  if (changed.length === 0 || mayCurate(caller) || !isReviewedByOthers(record)) return
  const message = `${changed.join(', ')}: others reviewed this decision, so only the scopes curate and admin may change its texts`
  throw new CstpError('forbidden', message, { scope: 'curate' })
}

/** The category of a decision without one is named once, before the outcome is known. @throws CstpError `invalid_params` */
export function requireUncategorized({ category, status }: DecisionRecord, updates: Updates, caller: Caller): void {
  if (updates.category == null || updates.category === category) return
  if (category === null && (status === 'pending' || mayCurate(caller))) return
  const expected = 'no category: it is named once, before the outcome is known'
  throw invalidParams({
    path: 'updates.category',
    message: `expected ${expected}`,
    expected,
    received: updates.category,
  })
}

/** What a rule counts decisions by: each condition of it that counts, those inside others too. */
const countsIn = (conditions: readonly Condition[]): TemporalCondition[] =>
  conditions.flatMap((one) =>
    one.type === 'compound'
      ? countsIn(one.conditions)
      : one.type === 'temporal' && one.field !== undefined
        ? [one]
        : [],
  )

const namesOf = ({ tags, project }: DecisionRecord, field: TemporalCondition['field']): readonly string[] =>
  field === 'tag' ? tags : field === 'feature' && project?.feature ? [project.feature] : []

/**
 * A rule that counts decisions by a tag or feature would count one less if its recorder dropped that name meanwhile.
 * @throws CstpError `forbidden`
 */
export function requireCounted(
  rules: PolicySet['rules'],
  before: DecisionRecord,
  after: DecisionRecord,
  { caller, now_ms }: { caller: Caller; now_ms: number },
): void {
  if (mayCurate(caller)) return
  for (const { rule } of rules)
    for (const { field, value, window_hours } of countsIn(rule.conditions)) {
      const until_ms = Date.parse(before.created_at) + window_hours! * hourMs
      const isNamed = (record: DecisionRecord) =>
        namesOf(record, field).some((name) => skeleton(name) === skeleton(value!))
      if (now_ms >= until_ms || !isNamed(before) || isNamed(after)) continue
      const why = `the rule ${rule.id} counts decisions with the ${field} ${JSON.stringify(value)}`
      const message = `${why}, so that only the scopes curate and admin may drop it before ${timestamp(until_ms)}`
      throw new CstpError('forbidden', message, { scope: 'curate' })
    }
}

/** Whether an agent makes an observed decision its own by this update, which is then judged as its record. */
export const isTakenUp = ({ source, adopted_by }: DecisionRecord, { project: _, ...texts }: Updates): boolean =>
  source === 'hook' && adopted_by === undefined && Object.keys(texts).length > 0

/**
 * Brings a decision into the scopes of breakers that an update adds, as if it were recorded now: a breaker uses it as its probe; and if it
 * failed already, the failure counts. A success says nothing there: its recorder chose the scope afterwards.
 */
export async function enterScopes(
  call: RecordPolicyCall,
  tx: Transaction,
  before: DecisionRecord,
  after: DecisionRecord,
): Promise<void> {
  const added = after.breaker_scopes.filter((scope) => !before.breaker_scopes.includes(scope))
  if (added.length === 0 || after.imported_by !== null) return
  const { breakers } = await call.policy.current()
  const watched = watching(breakers, added)
  if (watched.length === 0) return
  const counted = countedReview(after)
  if (counted === null) await startProbes(call, tx, watched, { ...after, breaker_scopes: added })
  else if (counted.outcome === 'failure' && counted.basis !== 'age')
    await countReview(call, tx, watched, added, {
      decision_id: after.id,
      outcome: counted.outcome,
      before: null,
      trusted: !counted.self_reviewed,
      corrects: false,
      event: eventOf(counted.basis, after),
      limited_to: limitedTo(
        counted.basis && { basis: counted.basis },
        counted.self_reviewed ? null : { agent: counted.reviewed_by, curates: counted.curated === true },
      ),
    })
}

/** Events that say nothing of how it went. */
const silent: ReadonlySet<string> = new Set(['pr_opened', 'pr_commit', 'branch_pushed', 'evidence_overruled'])

/**
 * Why the confidence that this update states for a record of a hook can enter no score; null if it can. An agent that states it late may know how
 * it went: from an event of its pull request or of one of its commits.
 */
export async function unscoredAdoption(
  { evidence, keyed }: { evidence: Pick<Evidence, 'ofPullRequest' | 'ofCommit'>; keyed: Pick<KeyedReader, 'get'> },
  record: DecisionRecord,
  { confidence }: Updates,
): Promise<string | null> {
  const name = record.project?.name ?? null
  if (!isUnadopted(record) || typeof confidence !== 'number' || name === null) return null
  const commits = (await keptCommits(keyed, [record.id])).get(record.id) ?? []
  const pr = record.project?.pr ?? (await pullRequestOf(evidence, name, commits))
  const records = [
    ...(pr === null ? [] : await recordsOf(evidence, pr)),
    ...(await Promise.all(commits.map((commit) => recordsOfCommit(evidence, commit)))).flat(),
  ]
  const told = standing(records).find(({ event_type, payload }) => {
    const { repo } = JSON.parse(payload) as { repo?: unknown }
    return !silent.has(event_type) && (repo === undefined || repo === null || repo === name)
  })
  return told === undefined
    ? null
    : `Its confidence enters no score: event ${told.seq} (${told.event_type}, ${told.ts}) is older than the adoption`
}
