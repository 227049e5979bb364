/** The scopes of circuit breakers that a decision or an action belongs to. A decision keeps its scopes, for its review. */

/** The properties of a decision or an action that select its breakers. */
export interface BreakerSubject {
  /** Null if there is none, which counts as {@link withoutCategory}. */
  category: string | null
  stakes: string
  /** The authenticated agent: the identity that a caller claims affects no breaker. */
  agent: string
  tags: readonly string[]
  project: string | null
}

/** The category of subjects without one, in scopes. */
const withoutCategory = 'uncategorized'

/** Scopes of all breakers that could watch the subject. */
export const breakerScopes = ({ category, stakes, agent, tags, project }: BreakerSubject): string[] => [
  'global',
  `category:${category ?? withoutCategory}`,
  `stakes:${stakes}`,
  `agent:${agent}`,
  ...tags.map((tag) => `tag:${tag}`),
  ...(project === null ? [] : [`project:${project}`]),
]
