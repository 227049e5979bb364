/** Inputs of a deliberation: what calls note for the agent's next decision, and what its record takes from them. */
import type { DecisionRecord, Deliberation, Link } from '../../../../sdk/schema/decision.ts'
import type { RecordParams } from '../../../../sdk/schema/record.ts'
import { parseRecord } from '../../../../sdk/storage/decisions.ts'
import { maskSecrets } from '../../../core/secrets.ts'
import type { Hit } from '../decision/hits.ts'
import { autoLink } from '../decision/links.ts'
import type { Session, SessionInput } from './sessions.ts'
import type { InputDraft, SessionName, Tracker } from './tracker.ts'

/** Types of inputs that show what was done before deciding. */
export const inputTypes = {
  query: 'query',
  check: 'guardrail_check',
  lookup: 'lookup',
  stats: 'reason_stats',
  thought: 'thought',
} as const

/** What noting an input needs from a call. */
export interface TrackedCall {
  caller: { agent: string; tracked?: boolean; session?: string }
  method: string
  tracker: Pick<Tracker, 'note'>
}

interface SessionParams {
  /** False if the call is not part of a deliberation. */
  track?: boolean
  agent_id?: string | null | undefined
  tracker_scope?: string | null | undefined
}

/** The session that a call belongs to. Its agent is always the authenticated one. */
export const sessionOf = ({ caller }: Pick<TrackedCall, 'caller'>, params: SessionParams): SessionName => ({
  agent: caller.agent,
  ...(caller.session !== undefined && { client: caller.session }),
  agent_id: params.agent_id ?? null,
  scope: params.tracker_scope ?? null,
})

/** Notes an input of a call for the agent's next decision. */
export function noteInput(call: TrackedCall, params: SessionParams, input: InputDraft): void {
  if (call.caller.tracked !== false && params.track !== false)
    call.tracker.note(sessionOf(call, params), call.method, input)
}

/** Most hits of a query to which a later record may be related. */
const maxTrackedHits = 10

/** A precedent as stored with a tracked query. */
interface TrackedHit {
  id: string
  title: string
  distance: number | null
}

// Searches and rules see a text itself. It is kept without secrets: the next record, its file and its act contain it.

/** A query and its best hits. */
export const queryInput = (query: string, hits: readonly Hit[]): InputDraft => ({
  type: inputTypes.query,
  text: maskSecrets(query),
  data: {
    hits: hits
      .slice(0, maxTrackedHits)
      .map((hit) => ({ id: hit.text.id, title: parseRecord(hit.text).title, distance: hit.distance })),
  },
})

/** A guardrail check and its verdict. */
export function checkInput(
  description: string,
  { allowed, violations }: { allowed: boolean; violations: readonly { guardrail_id: string }[] },
): InputDraft {
  const ids = violations.map(({ guardrail_id }) => guardrail_id)
  const verdict = allowed ? 'allowed' : `blocked by ${ids.join(', ')}`
  return { type: inputTypes.check, text: `${maskSecrets(description)}: ${verdict}`, data: { allowed, violations: ids } }
}

const has = (session: Session | null, type: string): boolean =>
  session?.inputs.some((input) => input.type === type) ?? false

/** What rules see of a session: whether it has any input, a thought, a query. */
export async function deliberated(tracker: Pick<Tracker, 'types'>, name: SessionName) {
  const types = await tracker.types(name)
  return {
    has_deliberation: types !== null,
    has_reasoning: types?.has(inputTypes.thought) ?? false,
    has_query: types?.has(inputTypes.query) ?? false,
  }
}

function hitsOf({ data }: SessionInput): TrackedHit[] {
  return data !== null && typeof data === 'object' && 'hits' in data && Array.isArray(data.hits) ? data.hits : []
}

const maxRelated = 10

/** Four decimals, as distances have. */
const round4 = (value: number): number => Math.round(value * 10_000) / 10_000

/** Ids of all hits of the tracked queries. */
export const trackedIds = ({ inputs }: Session): string[] => [...new Set(inputs.flatMap(hitsOf).map(({ id }) => id))]

/** How far the tracked hits are from the decision that is recorded. */
export interface Nearness {
  /** By id; null if the decision has no vectors yet, and then the distance from the query is used. */
  distances: ReadonlyMap<string, number> | null
  /** Beyond this distance two texts are unrelated. */
  noise_distance: number
}

/** The hits of the tracked queries that are related to the decision itself, nearest first. */
export function relatedTo(
  session: Session,
  self: string,
  { distances, noise_distance }: Nearness,
): DecisionRecord['related_to'] {
  const best = new Map<string, TrackedHit & { distance: number }>()
  for (const hit of session.inputs.flatMap(hitsOf)) {
    const { id } = hit
    const distance = distances === null ? hit.distance : (distances.get(id) ?? null)
    if (distance === null || distance > noise_distance || id === self) continue
    const known = best.get(id)
    if (!known || distance < known.distance) best.set(id, { ...hit, distance })
  }
  return [...best.values()]
    .sort((a, b) => a.distance - b.distance || (a.id < b.id ? -1 : 1))
    .slice(0, maxRelated)
    .map(({ id, title, distance }) => ({ id, summary: title, distance: round4(distance) }))
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
  return { inputs, steps, ...(given?.given && { given: true }) }
}

/** Marks a deliberation and a protocol as given by the caller, to tell them from those that the service noted. */
export const markGiven = ({
  deliberation,
  pre_decision_protocol: protocol,
}: Pick<RecordParams, 'deliberation' | 'pre_decision_protocol'>) => ({
  deliberation: deliberation && {
    inputs: deliberation.inputs.map((one) => ({ ...one, given: true })),
    steps: deliberation.steps.map((one) => ({ ...one, given: true })),
    given: true,
  },
  pre_decision_protocol: protocol && { ...protocol, given: true },
})

/** The related decisions of a new record, each with an automatic edge whose weight grows with their nearness. */
export function relationsOf(
  session: Session,
  id: string,
  at: string,
  nearness: Nearness,
): Pick<DecisionRecord, 'related_to' | 'links'> {
  const related_to = relatedTo(session, id, nearness)
  const links = related_to.map(
    ({ id: target_id, distance }): Link => ({
      target_id,
      edge_type: 'relates_to',
      weight: round4(1 - (distance ?? 0) / 2),
      context: null,
      created_at: at,
      created_by: autoLink,
      effective: true,
    }),
  )
  return { related_to, links }
}

/** The fields of a new record that its agent's session fills. */
export function takeSession(
  { deliberation, pre_decision_protocol: protocol }: Pick<DecisionRecord, 'deliberation' | 'pre_decision_protocol'>,
  session: Session,
): Pick<DecisionRecord, 'deliberation' | 'pre_decision_protocol'> {
  return {
    deliberation: deliberationOf(deliberation, session),
    pre_decision_protocol: {
      ...protocol,
      query_run: protocol?.query_run || has(session, inputTypes.query),
      guardrails_checked: protocol?.guardrails_checked || has(session, inputTypes.check),
    },
  }
}
