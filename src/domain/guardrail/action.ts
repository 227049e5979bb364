/** The action that rules look at: its own fields, and its context beneath them. */
import type { DecisionRecord } from '../../../sdk/schema/decision.ts'

/** Fields that an action always has in CEL; null where nothing was given. */
export const actionFields = [
  'description',
  'category',
  'stakes',
  'confidence',
  'tags',
  'project',
  'scope',
  'agent_id',
  'phase',
  'reason_count',
  'quality_score',
  'has_deliberation',
  'has_reasoning',
  'has_query',
  'has_check',
] as const

export type Phase = 'check' | 'pre_action' | 'record'

export interface Action {
  description: string
  category: string | null
  stakes: string
  confidence: number | null
  tags: string[]
  project: string | null
  scope: string | null
  agent_id: string | null
  phase: Phase
  reason_count: number | null
  quality_score: number | null
  has_deliberation: boolean
  has_reasoning: boolean
  has_query: boolean
  has_check: boolean
  context: Record<string, unknown>
}

/** The kinds of the action's own fields: what an operator can't compare with them is refused when a rule is loaded. */
export const fieldKinds: Readonly<Record<(typeof actionFields)[number], 'string' | 'number' | 'boolean' | 'list'>> = {
  description: 'string',
  category: 'string',
  stakes: 'string',
  confidence: 'number',
  tags: 'list',
  project: 'string',
  scope: 'string',
  agent_id: 'string',
  phase: 'string',
  reason_count: 'number',
  quality_score: 'number',
  has_deliberation: 'boolean',
  has_reasoning: 'boolean',
  has_query: 'boolean',
  has_check: 'boolean',
}

const isPlain = (value: unknown): value is Record<string, unknown> =>
  value !== null && typeof value === 'object' && !Array.isArray(value)

/** A value inside plain objects, by own keys only; undefined where there is none. */
function inside(value: unknown, path: readonly string[]): unknown {
  let found = value
  for (const step of path) {
    if (!isPlain(found) || !Object.hasOwn(found, step)) return undefined
    found = found[step]
  }
  return found
}

/** A field of rules, ready to be read from many actions. */
export interface Field {
  /** The value; undefined where it is absent or null. */
  value(action: Action): unknown
  /**
   * A key of the context that looks like the field without being it; null where there is none. Whoever writes such a key wants a rule
   * to miss it.
   */
  disguised(action: Action): string | null
}

/**
 * The action's own field by its bare name, everything else from the context: the context can never stand in for a field of the action.
 */
export function compileField(name: string): Field {
  if (Object.hasOwn(fieldKinds, name)) {
    const key = name as keyof typeof fieldKinds
    const wanted = skeleton(name)
    return {
      value: (action) => action[key] ?? undefined,
      disguised: (action) =>
        looksOf(action.context)
          .get(wanted)
          ?.find((one) => one !== name) ?? null,
    }
  }
  const path = name.startsWith('context.') ? name.slice('context.'.length) : name
  const steps = path.split('.')
  const wanted = steps.map(skeleton)
  return {
    value: ({ context }) => (Object.hasOwn(context, path) ? context[path] : inside(context, steps)) ?? undefined,
    disguised({ context }) {
      let level: unknown = context
      for (const [depth, step] of steps.entries()) {
        if (!isPlain(level)) return null
        const fake = looksOf(level)
          .get(wanted[depth]!)
          ?.find((key) => key !== step)
        if (fake !== undefined) return fake
        level = Object.hasOwn(level, step) ? level[step] : null
      }
      return null
    },
  }
}

/** Latin letters, each with the Cyrillic and Greek ones that look like it. */
const lookAlikes: ReadonlyMap<string, string> = new Map(
  [
    'aаα',
    'bь',
    'cсϲ',
    'dԁ',
    'eеε',
    'gɡ',
    'hһ',
    'iіιı',
    'jј',
    'kкκ',
    'lⅼӏ',
    'mм',
    'nпη',
    'oоο',
    'pрρ',
    'qԛ',
    'rг',
    'sѕ',
    'tтτ',
    'uυս',
    'vνѵ',
    'wԝω',
    'xхχ',
    'yуγ',
  ].flatMap(([latin, ...others]) => others.map((other): [string, string] => [other, latin!])),
)

/** A key as it looks: compatible forms, marks and invisible characters folded away. */
export function skeleton(key: string): string {
  const folded = key
    .normalize('NFKD')
    .replace(/[\p{M}\p{Cf}\p{Zs}]/gu, '')
    .toLowerCase()
  return [...folded].map((letter) => lookAlikes.get(letter) ?? letter).join('')
}

/** Keys by how they look, made once for each object: many rules look at one context. */
const looks = new WeakMap<object, Map<string, string[]>>()

function looksOf(level: Record<string, unknown>): Map<string, string[]> {
  let found = looks.get(level)
  if (!found) {
    found = new Map()
    for (const key of Object.keys(level)) {
      const look = skeleton(key)
      const same = found.get(look)
      if (same) same.push(key)
      else found.set(look, [key])
    }
    looks.set(level, found)
  }
  return found
}

// The action that a recorded decision stands for, as rules see it.

/** True when a thought stands in the deliberation. */
const thought = ({ deliberation }: DecisionRecord): boolean =>
  deliberation?.steps.some(({ type }) => type === 'reasoning') ?? false

/** @param context of the action; the record's own text is no context of rules */
export function recordedAction(record: DecisionRecord, context: Action['context'] = {}): Action {
  const protocol = record.pre_decision_protocol
  return {
    description: record.decision,
    category: record.category,
    stakes: record.stakes,
    // What stood at the review: a later update does not change what was decided.
    confidence: record.confidence_at_review ?? record.confidence,
    tags: record.tags,
    project: record.project?.name ?? null,
    scope: null,
    agent_id: record.recorded_by,
    phase: 'record',
    reason_count: record.reasons.length,
    quality_score: record.quality.score,
    has_deliberation: record.deliberation !== null,
    has_reasoning: record.reasoning_trace.length > 0 || thought(record),
    has_query: protocol?.query_run ?? false,
    has_check: protocol?.guardrails_checked ?? false,
    context,
  }
}
