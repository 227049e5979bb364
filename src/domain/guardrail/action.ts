/** The action that rules look at: its own fields, and its context beneath them. */

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

const own: ReadonlySet<string> = new Set(actionFields)

/** A value inside plain objects, by own keys only; undefined where there is none. */
function inside(value: unknown, path: readonly string[]): unknown {
  let found = value
  for (const step of path) {
    if (found === null || typeof found !== 'object' || Array.isArray(found) || !Object.hasOwn(found, step))
      return undefined
    found = (found as Record<string, unknown>)[step]
  }
  return found
}

/**
 * The value of a field: the action's own by its bare name, everything else from the context. Null counts as absent. The context can
 * never stand in for a field of the action.
 */
export function fieldValue(action: Action, field: string): unknown {
  if (own.has(field)) return action[field as keyof Action] ?? undefined
  const path = field.startsWith('context.') ? field.slice('context.'.length) : field
  const direct = Object.hasOwn(action.context, path) ? action.context[path] : inside(action.context, path.split('.'))
  return direct ?? undefined
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

/**
 * A key of the context that looks like `field` without being it; null where there is none. Whoever writes such a key wants a rule to
 * miss it.
 */
export function disguised(action: Action, field: string): string | null {
  const path = (field.startsWith('context.') ? field.slice('context.'.length) : field).split('.')
  const wanted = path.map(skeleton)
  let level: unknown = action.context
  for (const [depth, step] of path.entries()) {
    if (level === null || typeof level !== 'object' || Array.isArray(level)) return null
    const keys = Object.keys(level)
    const fake = keys.find((key) => key !== step && skeleton(key) === wanted[depth])
    if (fake !== undefined) return fake
    level = Object.hasOwn(level, step) ? (level as Record<string, unknown>)[step] : null
  }
  return null
}
