/** Outcomes from what became of a pull request: by evidence where it is known, by age where it is not. */
import type { AttributionBasis, DecisionRecord, Outcome } from '../../sdk/schema/decision.ts'

/** What the evidence store knows of a pull request. */
export interface PullRequestHistory {
  merged_at: string | null
  reverted_at: string | null
  /** Closed without a merge. */
  closed_at: string | null
}

export interface Attribution {
  outcome: Outcome | null
  basis: AttributionBasis
  reason: string
}

const dayMs = 86_400_000
const days = (count: number): string => `${count} ${count === 1 ? 'day' : 'days'}`

/** @see open points "Attribution" */
export function attribute(
  record: DecisionRecord,
  history: PullRequestHistory | null,
  stability_days: number,
  now_ms: number,
): Attribution {
  const pr = record.project?.pr
  const stable_ms = stability_days * dayMs
  if (history === null) {
    const age_ms = now_ms - Date.parse(record.created_at)
    const age = Math.floor(age_ms / dayMs)
    return age_ms >= stable_ms
      ? {
          outcome: 'success',
          basis: 'age',
          reason: `No evidence was found for PR ${pr}; the decision has stood for ${days(age)}`,
        }
      : {
          outcome: null,
          basis: 'age',
          reason: `No evidence was found for PR ${pr}; the decision is ${days(age)} old, ${days(stability_days)} are needed`,
        }
  }
  const { merged_at, reverted_at, closed_at } = history
  const evidence = (outcome: Outcome | null, reason: string): Attribution => ({ outcome, basis: 'evidence', reason })
  if (merged_at === null) {
    return closed_at === null
      ? evidence(null, `PR ${pr} is not merged yet`)
      : evidence('abandoned', `PR ${pr} was closed without a merge`)
  }
  const merged_ms = Date.parse(merged_at)
  if (reverted_at !== null && Date.parse(reverted_at) - merged_ms <= stable_ms) {
    return evidence('failure', `PR ${pr} was reverted within ${days(stability_days)} of its merge`)
  }
  if (now_ms - merged_ms < stable_ms) return evidence(null, `PR ${pr} was merged less than ${days(stability_days)} ago`)
  return evidence('success', `PR ${pr} was merged and stood for ${days(stability_days)}`)
}
