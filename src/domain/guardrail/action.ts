/** The action that rules look at: its own fields, its context beneath them, and the action that a recorded decision amounts to. */
import type * as v from 'valibot'
import { type ActionField, type ActionFieldName, actionFields } from '../../../sdk/schema/action.ts'
import type { DecisionRecord } from '../../../sdk/schema/decision.ts'
import { instructionLike, textsOf } from '../decision/instructions.ts'

type Given<N extends ActionFieldName> = v.InferOutput<(typeof actionFields)[N]['schema']>

/** An action as rules see it: what was not given is null. */
export type Action = {
  [N in ActionFieldName]: undefined extends Given<N> ? Exclude<Given<N>, undefined> | null : Given<N>
} & { context: Record<string, unknown> }

export type Phase = Action['phase']

/** The row of a field of the action; undefined for any other name, which is looked up in the context. */
export const actionField = (name: string): ActionField | undefined =>
  Object.hasOwn(actionFields, name) ? actionFields[name as ActionFieldName] : undefined

/** Whether a field of the action may be null. */
export const isNullable = ({ schema }: ActionField): boolean =>
  schema.type === 'optional' && (schema as { default?: unknown }).default === undefined

const isPlain = (value: unknown): value is Record<string, unknown> =>
  value !== null && typeof value === 'object' && !Array.isArray(value)

/** A value inside plain objects, by own keys only; undefined if there is none. */
function inside(value: unknown, path: readonly string[]): unknown {
  let found = value
  for (const step of path) {
    if (!isPlain(found) || !Object.hasOwn(found, step)) return undefined
    found = found[step]
  }
  return found
}

/** A field that a rule names, compiled once and read from many actions. */
export interface Field {
  /** The value; undefined if it is absent or null. */
  value(action: Action): unknown
  /** A key of the context that looks like the field and is another one, so that a rule would miss it; null if there is none. */
  lookalikeOf(action: Action): string | null
}

/** The action's own field by its bare name, everything else from the context, which can never replace a field of the action. */
export function compileField(name: string): Field {
  if (actionField(name)) {
    const key = name as ActionFieldName
    const wanted = skeleton(name)
    return {
      value: (action) => action[key] ?? undefined,
      lookalikeOf: (action) =>
        keysBySkeleton(action.context)
          .get(wanted)
          ?.find((one) => one !== name) ?? null,
    }
  }
  const path = name.startsWith('context.') ? name.slice('context.'.length) : name
  const steps = path.split('.')
  const wanted = steps.map(skeleton)
  return {
    value: ({ context }) => (Object.hasOwn(context, path) ? context[path] : inside(context, steps)) ?? undefined,
    lookalikeOf({ context }) {
      let level: unknown = context
      for (const [depth, step] of steps.entries()) {
        if (!isPlain(level)) return null
        const fake = keysBySkeleton(level)
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
  'aаαᴀ bьвʙ cсϲᴄ dԁᴅ eеεᴇҽ fꜰ gɡɢց hһнʜհ iіιıɪ jјᴊ kкκᴋ lⅼӏʟ mмᴍ nпηɴո oоοᴏօ pрρᴘ qԛ rгʀ sѕꜱ tтτᴛ uυսᴜ vνѵᴠ wԝωᴡա xхχ yуγʏ zᴢ'
    .split(' ')
    .flatMap(([latin, ...others]) => others.map((other): [string, string] => [other, latin!])),
)

/** A key as it looks: compatible forms, marks and invisible characters folded away. */
export function skeleton(key: string): string {
  const folded = key
    .normalize('NFKD')
    .replace(/[\p{M}\p{Cf}\p{Zs}]/gu, '')
    .toLowerCase()
  return [...folded].map((letter) => lookAlikes.get(letter) ?? letter).join('')
}

/** Keys by their skeleton, cached for each object: many rules look at one context. */
const skeletons = new WeakMap<object, Map<string, string[]>>()

function keysBySkeleton(level: Record<string, unknown>): Map<string, string[]> {
  let found = skeletons.get(level)
  if (!found) {
    found = new Map()
    for (const key of Object.keys(level)) {
      const look = skeleton(key)
      const same = found.get(look)
      if (same) same.push(key)
      else found.set(look, [key])
    }
    skeletons.set(level, found)
  }
  return found
}

const hasThought = ({ deliberation }: DecisionRecord): boolean =>
  deliberation?.steps.some(({ type }) => type === 'reasoning') ?? false

/**
 * The action that a recorded decision amounts to.
 * @param context of the action; the record's own text is not a context for rules
 */
export function recordedAction(record: DecisionRecord, context: Action['context'] = {}): Action {
  const protocol = record.pre_decision_protocol
  return {
    description: record.decision,
    category: record.category,
    stakes: record.stakes,
    // As it was recorded: a later update does not change what was decided.
    confidence: record.confidence_at_record,
    tags: record.tags,
    project: record.project?.name ?? null,
    scope: null,
    agent_id: record.recorded_by,
    phase: 'record',
    reason_count: record.reasons.length,
    quality_score: record.quality.score,
    instruction_like: instructionLike(textsOf(record)),
    has_deliberation: record.deliberation !== null,
    has_reasoning: record.reasoning_trace.length > 0 || hasThought(record),
    has_query: protocol?.query_run ?? false,
    has_check: protocol?.guardrails_checked ?? false,
    context,
  }
}
