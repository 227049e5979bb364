/** Proposes the outcome of a decision that nobody has reviewed: what evidence says about it, for a person to accept or not. */
import type { DecisionRecord, Proposal } from '../../../sdk/schema/decision.ts'
import type { Evidence } from '../../../sdk/storage/evidence.ts'
import { filterFields } from '../../../sdk/storage/fields.ts'
import { mayCurate } from '../../core/caller.ts'
import { keptCommits, pullRequestOf } from '../record/decision/commits.ts'
import { type AttributionSettings, attributed } from './attribution.ts'
import type { ReviewCall } from './review.ts'

/** A merged pull request that was not reverted for so long is taken for a success, unless the operator asks for more. */
const stableDays = 14

/**
 * What evidence says about a decision without an outcome; null if it says nothing. What an agent would learn of others' decisions before
 * anybody knows, it could use before they are scored: only curators and the recorder learn it.
 */
export async function proposalOf(
  call: Pick<ReviewCall, 'store' | 'now' | 'caller'> & { evidence: Evidence; attribution: AttributionSettings },
  record: DecisionRecord,
): Promise<Proposal | null> {
  const { id, outcome, project, recorded_by } = record
  if (outcome !== null || !project?.name || (recorded_by !== call.caller.agent && !mayCurate(call.caller))) return null
  const commits = project.pr === null ? ((await keptCommits(call.store.keyed, [id])).get(id) ?? []) : []
  const pr = project.pr ?? (await pullRequestOf(call.evidence, project.name, commits))
  if (pr === null) return null
  const stability_days = Math.max(stableDays, call.attribution.min_stability_days)
  const asked = { project: project.name, stability_days, by_age: false }
  const { history, found } = await attributed(call, { ...filterFields(record, true), pr }, asked)
  if (history === null) return null
  // A merge that lasts in spite of failed checks proves neither.
  const isClear = found.outcome !== 'success' || history.checks !== 'failed'
  return { outcome: isClear ? found.outcome : null, reason: found.reason }
}
