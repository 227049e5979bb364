/** Attributes outcomes to decisions from the evidence of their pull requests. */
import type { Outcome, Project, Revision } from '../../../sdk/schema/decision.ts'
import { type DecisionFields, decisionPages, readDecision } from '../../../sdk/storage/decisions.ts'
import type { Evidence } from '../../../sdk/storage/evidence.ts'
import { ruleSettlers } from '../../../sdk/storage/fields.ts'
import { mayCurate } from '../../core/caller.ts'
import { dayMs, timestamp } from '../../core/time.ts'
import { keptCommits, namedByCommit, pullRequestOf } from '../record/decision/commits.ts'
import { type Attribution, replaces } from '../record/decision/outcome.ts'
import { applyUpdate, keepRevision, revisionsOf } from '../record/decision/revisions.ts'
import type { Closed } from './closed.ts'
import { type Failed, type PullRequestHistory, pullRequestHistory } from './pull-request.ts'
import { type ReviewCall, review } from './review.ts'

/** What a pull request that was closed without a merge says about the decision. */
const ends: Record<Closed['how'], { outcome: Outcome; why: string }> = {
  rejected: { outcome: 'failure', why: ' by somebody else than its author, after changes were requested' },
  'by its author': { outcome: 'abandoned', why: ' by its author' },
  'by another': { outcome: 'abandoned', why: '; nobody requested changes' },
  unknown: { outcome: 'abandoned', why: '' },
}

/** From when on events count, milliseconds since 1970, and what happened then. */
interface Counted {
  ms: number
  event: string
}

const days = (count: number): string => `${count} ${count === 1 ? 'day' : 'days'}`

/** Operator settings for attributed outcomes. */
export interface AttributionSettings {
  /** Fewest days of stability that a caller may ask for. */
  min_stability_days: number
  /** Whether age alone settles a decision if nothing is known about its pull request. Such an outcome counts in no score and no breaker. */
  by_age: boolean
}

/**
 * The outcome of a decision by its pull request; by its age only if the operator allows it and there is no evidence.
 * @param from earlier events settle nothing
 */
export function attribute(
  { pr, created_ms, reviewed_ms, settled_by }: Pick<DecisionFields, 'pr' | 'created_ms' | 'reviewed_ms' | 'settled_by'>,
  history: PullRequestHistory | null,
  { stability_days, by_age }: { stability_days: number; by_age: boolean },
  now_ms: number,
  from: Counted = { ms: created_ms, event: 'the decision was recorded' },
): Attribution {
  const stable_ms = stability_days * dayMs
  if (history === null) {
    const age = (outcome: Outcome | null, more: string): Attribution => ({
      outcome,
      basis: 'age',
      reason: `No evidence was found for PR ${pr}; ${more}`,
    })
    if (!by_age) return age(null, 'age settles nothing')
    const age_ms = now_ms - created_ms
    const old = `the decision is ${days(Math.floor(age_ms / dayMs))} old`
    return age_ms >= stable_ms ? age('success', old) : age(null, `${old}, ${days(stability_days)} are needed`)
  }
  const { merged_at, failed, closed, checks } = history
  const evidence = (outcome: Outcome | null, reason: string): Attribution => ({ outcome, basis: 'evidence', reason })
  const failure = ({ what, is_inferred }: Failed, when: string): Attribution => ({
    outcome: 'failure',
    basis: is_inferred ? 'inferred' : 'evidence',
    reason: `PR ${pr} was ${what} ${when}${is_inferred ? ', as the service inferred' : ''}`,
  })
  const { event: then } = from
  const isEarlier = (at: string): boolean => Date.parse(at) < from.ms
  if (merged_at === null) {
    if (closed === null) return evidence(null, `PR ${pr} is not merged yet`)
    if (isEarlier(closed.at)) return evidence(null, `PR ${pr} was closed before ${then}`)
    const { outcome, why } = ends[closed.how]
    return evidence(outcome, `PR ${pr} was closed without a merge${why}`)
  }
  if (isEarlier(merged_at)) return evidence(null, `PR ${pr} was merged before ${then}`)
  const merged_ms = Date.parse(merged_at)
  let later = ''
  if (failed !== null) {
    const failed_ms = Date.parse(failed.at)
    if (failed_ms - merged_ms <= stable_ms) return failure(failed, `within ${days(stability_days)} of its merge`)
    const is_settled = settled_by !== null && settled_by !== 'self'
    if (is_settled && failed_ms > reviewed_ms!) return failure(failed, 'after its outcome was settled')
    later = `; it was ${failed.what} after ${days(Math.floor((failed_ms - merged_ms) / dayMs))}`
  }
  if (now_ms - merged_ms < stable_ms) return evidence(null, `PR ${pr} was merged less than ${days(stability_days)} ago`)
  const how = checks === undefined ? '' : ` with ${checks} checks`
  return evidence('success', `PR ${pr} was merged${how} and not reverted for ${days(stability_days)}${later}`)
}

/**
 * Sets the pull request of linked events on a decision that names none, so that it can settle the decision. Does nothing if the events
 * belong to several pull requests, or to another project than the decision.
 */
export async function bindPullRequest(
  call: Pick<ReviewCall, 'store' | 'caller' | 'now'> & { evidence: Evidence },
  id: string,
  seqs: readonly number[],
): Promise<void> {
  const pulls = new Map<string, { repo: unknown; pr: number }>()
  for (const seq of seqs) {
    const [event] = await call.evidence.read(seq, 1)
    const { repo, pr_number: pr } = JSON.parse(event?.payload ?? '{}') as { repo?: unknown; pr_number?: unknown }
    if (typeof pr === 'number' && Number.isSafeInteger(pr) && pr > 0)
      pulls.set(JSON.stringify([repo, pr]), { repo, pr })
  }
  const [pull] = pulls.values()
  if (pull === undefined || pulls.size > 1) return
  await notePullRequest(call, id, pull, call.caller.agent)
}

/** Sets a pull request on a decision of its project that names none. Returns whether it did. @param by author of the update */
const notePullRequest = (
  call: Pick<ReviewCall, 'store' | 'now'>,
  id: string,
  pull: { repo: unknown; pr: number },
  by: string,
): Promise<boolean> =>
  call.store.transaction(async (tx) => {
    const found = await readDecision(tx.decisions, id)
    if (!found || found.record.project?.pr) return false
    const { name = null, feature = null, files = [] } = found.record.project ?? {}
    const repo = typeof pull.repo === 'string' ? pull.repo : name
    if (repo === null || (name ?? repo) !== repo) return false
    const project = { name: repo, feature, pr: pull.pr, files }
    const { record, revision } = applyUpdate(found.record, { project }, by, timestamp(call.now()))
    await tx.decisions.put(record, found.revision)
    await keepRevision(tx, id, record.revision_count, revision)
    return true
  })

// The run over all decisions of a project that evidence may settle.

const batch = 500

/**
 * Decisions of the project with a pull request, oldest first, except those that a curator settled. If a decision names no pull
 * request, the one of the commits that a hook saw is used. Only the fields are read: most decisions can't be settled yet, and their
 * records would evict requested ones from memory.
 */
async function* candidates(
  { store, evidence }: ReviewCall & { evidence: Evidence },
  project: string,
  created_from_ms: number,
) {
  for await (const page of decisionPages(store.decisions, { project, created_from_ms }, batch)) {
    const open = page.filter(({ settled_by }) => settled_by !== 'curator')
    const unnamed = open.filter(({ pr }) => pr === null)
    const commits = await keptCommits(
      store.keyed,
      unnamed.map(({ id }) => id),
    )
    for (const fields of open) {
      const pr = fields.pr ?? (await pullRequestOf(evidence, project, commits.get(fields.id) ?? []))
      if (pr !== null) yield { ...fields, pr, is_named: fields.pr !== null }
    }
  }
}

/** Whether an update may have named a pull request: the earlier value named none, or is no longer kept. */
const isNaming = ({ fields, old_values }: Revision): boolean => {
  const before = old_values?.project as Project | null | undefined
  return fields.includes('project') && (!before || before.name === null || before.pr === null)
}

/**
 * When the recorder of a decision had named its pull request and stated the confidence that is scored. Evidence of a merge can arrive late, so
 * an agent may know about the merge before the service does. A pull request named by a curator or by evidence counts from the decision on.
 */
async function countedFrom(
  { keyed, decisions }: Pick<ReviewCall['store'], 'keyed' | 'decisions'>,
  { id, agent, created_ms, confidence }: Pick<DecisionFields, 'id' | 'agent' | 'created_ms' | 'confidence'>,
): Promise<Counted> {
  const naming = (await revisionsOf(keyed, id)).findLast(isNaming)
  const adopted_at = confidence === null ? undefined : (await readDecision(decisions, id))?.record.adopted_at
  const found: Counted[] = [{ ms: created_ms, event: 'the decision was recorded' }]
  if (naming?.updated_by === agent) found.push({ ms: Date.parse(naming.updated_at), event: 'its decision named it' })
  if (adopted_at !== undefined) found.push({ ms: Date.parse(adopted_at), event: 'its confidence was stated' })
  return found.reduce((last, one) => (one.ms > last.ms ? one : last))
}

/** The outcome of a decision by what is known about its pull request, which is null if nothing is. */
export async function attributed(
  call: Pick<ReviewCall, 'store' | 'now'> & { evidence: Evidence },
  decision: DecisionFields & { pr: number },
  query: { project: string; stability_days: number; by_age: boolean },
): Promise<{ history: PullRequestHistory | null; found: Attribution }> {
  const history = await pullRequestHistory(call.evidence, query.project, decision.pr)
  const first = attribute(decision, history, query, call.now())
  if (first.outcome === null || first.basis === 'age') return { history, found: first }
  const from = await countedFrom(call.store, decision)
  return { history, found: attribute(decision, history, query, call.now(), from) }
}

/** Whether an attribution would change the existing outcome of a decision. */
const corrects = ({ outcome, settled_by }: DecisionFields, found: Attribution): boolean =>
  outcome !== null &&
  settled_by !== null &&
  found.outcome !== null &&
  replaces({ outcome, settled_by }, { outcome: found.outcome, settled_by: ruleSettlers[found.basis] })

/** Attributes outcomes to the decisions of a project, and records them unless it is a dry run. */
export async function attributePending(
  call: ReviewCall & { evidence: Evidence },
  query: { project: string; created_from_ms: number; stability_days: number; by_age: boolean; dry_run: boolean },
): Promise<(Attribution & { id: string; pr: number; applied: boolean })[]> {
  const decisions = []
  for await (const candidate of candidates(call, query.project, query.created_from_ms)) {
    const { id, pr, is_named } = candidate
    // What an agent would learn of others' decisions before anybody knows, it could use before they are scored.
    if (query.dry_run && candidate.agent !== call.caller.agent && !mayCurate(call.caller)) continue
    const { found } = await attributed(call, candidate, query)
    const { outcome, reason: notes } = found
    if (candidate.outcome !== null && !corrects(candidate, found)) continue
    const input = outcome && { outcome, actual_result: null, lessons: null, notes }
    const settles = !query.dry_run && input !== null
    // A decision settled through a commit names its pull request from then on.
    const named = is_named || (settles && (await notePullRequest(call, id, { repo: query.project, pr }, namedByCommit)))
    const applied = settles && named && (await review(call, id, input, found)) !== null
    decisions.push({ id, pr, ...found, applied })
  }
  return decisions
}
