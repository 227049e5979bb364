/** A consumed session as the deliberation of a record: inputs, steps, related decisions and their edges. */
import type { DecisionRecord, Deliberation, Link } from '../../../sdk/schema/decision.ts'
import type { Session, SessionInput } from '../../../sdk/storage/store.ts'
import { quality } from '../decision/decision.ts'

/** Types of inputs that show what was done before deciding. */
export const inputTypes = {
  query: 'query',
  check: 'guardrail_check',
  lookup: 'lookup',
  stats: 'reason_stats',
  thought: 'thought',
} as const

/** A precedent as a tracked query remembers it. */
export interface TrackedHit {
  id: string
  title: string
  distance: number | null
}

const has = (session: Session | null, type: string): boolean =>
  session?.inputs.some((input) => input.type === type) ?? false
export const hasQuery = (session: Session | null): boolean => has(session, inputTypes.query)
const hasCheck = (session: Session | null): boolean => has(session, inputTypes.check)
export const hasThought = (session: Session | null): boolean => has(session, inputTypes.thought)

function hitsOf({ data }: SessionInput): TrackedHit[] {
  return data !== null && typeof data === 'object' && 'hits' in data && Array.isArray(data.hits) ? data.hits : []
}

const mostRelated = 10

/** The best hits of the tracked queries, nearest first. */
export function relatedTo(session: Session, self: string): DecisionRecord['related_to'] {
  const best = new Map<string, TrackedHit & { distance: number }>()
  for (const hit of session.inputs.flatMap(hitsOf)) {
    const { id, distance } = hit
    if (distance === null || id === self) continue
    const known = best.get(id)
    if (!known || distance < known.distance) best.set(id, { ...hit, distance })
  }
  return [...best.values()]
    .sort((a, b) => a.distance - b.distance || (a.id < b.id ? -1 : 1))
    .slice(0, mostRelated)
    .map(({ id, title, distance }) => ({ id, summary: title, distance }))
}

/** Inputs in their order, each with a step; thoughts become steps of type `reasoning`. */
export function deliberationOf(given: Deliberation | null, session: Session): Deliberation {
  const inputs = [...(given?.inputs ?? [])]
  const steps = [...(given?.steps ?? [])]
  let last = steps.reduce((most, { step }) => Math.max(most, step), 0)
  for (const { id, type, text, source, timestamp } of session.inputs) {
    const step = ++last
    if (type === inputTypes.thought) steps.push({ step, type: 'reasoning', thought: text, timestamp })
    else {
      inputs.push({ id, type, content: text, source, timestamp })
      steps.push({ step, type, thought: text, timestamp, input_id: id })
    }
  }
  return { inputs, steps }
}

/** The record with what its agent had left behind. */
export function withSession(record: DecisionRecord, session: Session, at: string): DecisionRecord {
  const related_to = relatedTo(session, record.id)
  const links = related_to.map(
    ({ id, distance }): Link => ({
      target_id: id,
      edge_type: 'relates_to',
      weight: 1 - (distance ?? 0) / 2,
      context: null,
      created_at: at,
      created_by: 'auto-link',
    }),
  )
  const protocol = record.pre_decision_protocol
  const whole: DecisionRecord = {
    ...record,
    deliberation: deliberationOf(record.deliberation, session),
    related_to,
    links: [...record.links, ...links],
    pre_decision_protocol: {
      ...protocol,
      query_run: protocol?.query_run || hasQuery(session),
      guardrails_checked: protocol?.guardrails_checked || hasCheck(session),
    },
  }
  return { ...whole, quality: quality(whole) }
}
