/** Quality of a record: how much of what makes a decision useful later was written down. */
import type { DecisionRecord } from '../../sdk/schema/decision.ts'

type Judged = Pick<
  DecisionRecord,
  | 'pattern'
  | 'tags'
  | 'reasons'
  | 'bridge_method'
  | 'decision'
  | 'context'
  | 'project'
  | 'deliberation'
  | 'pre_decision_protocol'
  | 'reasoning_trace'
>

const parts: { weight: number; has(record: Judged): boolean; missing: string }[] = [
  {
    weight: 15,
    has: ({ pattern }) => Boolean(pattern?.trim()),
    missing: 'State the pattern: the abstract principle behind the decision.',
  },
  { weight: 15, has: ({ tags }) => tags.length > 0, missing: 'Add tags.' },
  {
    weight: 15,
    has: ({ reasons }) => new Set(reasons.map(({ type }) => type)).size >= 2,
    missing: 'Give reasons of at least two types.',
  },
  {
    weight: 10,
    has: ({ bridge_method }) => bridge_method === 'given',
    missing: 'Give a bridge: what the decision looks like and what it is for.',
  },
  {
    weight: 10,
    has: ({ decision }) => decision.trim().length > 20,
    missing: 'Say the decision in more than 20 characters.',
  },
  { weight: 10, has: ({ context }) => (context?.trim().length ?? 0) > 10, missing: 'Describe the context.' },
  { weight: 10, has: ({ project }) => project !== null, missing: 'Name the project.' },
  {
    weight: 5,
    has: ({ deliberation, pre_decision_protocol: protocol }) =>
      (deliberation !== null && deliberation.inputs.length + deliberation.steps.length > 0) ||
      (protocol !== null && (protocol.query_run || protocol.guardrails_checked)),
    missing: 'Query precedents and check guardrails before deciding.',
  },
  { weight: 10, has: ({ reasoning_trace }) => reasoning_trace.length > 0, missing: 'Add the steps of the reasoning.' },
]

/** Score from 0 to 1 and what would raise it. @see open points "Quality score" */
export function quality(record: Judged): DecisionRecord['quality'] {
  const score = parts.reduce((sum, part) => sum + (part.has(record) ? part.weight : 0), 0)
  return { score: score / 100, suggestions: parts.filter((part) => !part.has(record)).map(({ missing }) => missing) }
}
