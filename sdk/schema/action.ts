/**
 * The fields of an action that guardrails see: the one table from which conditions, CEL, the linter, table tests and the reference derive.
 * A new field is a row here; the compiler then names the places that must supply its value.
 */
import * as v from 'valibot'
import { fraction, nonEmptyText, Stakes, stakesValues } from './decision.ts'

export interface ActionField {
  /** What it holds: an operator that can't compare it is refused when a rule is loaded. */
  kind: 'string' | 'number' | 'boolean' | 'list'
  /** Its value in a table test. A field that is optional there without a default is null if absent. */
  schema: v.GenericSchema<unknown, unknown>
  about: string
  /** Every value that it can have. */
  values?: readonly unknown[]
  /** Value to compare if it is absent and the condition does not say what absence means. */
  assumed?: string
  /** Bounds of a number, both included. */
  range?: readonly [low: number, high: number]
}

const phases = ['check', 'pre_action', 'record'] as const
const name = v.optional(nonEmptyText(256))
const count = v.optional(v.pipe(v.number(), v.safeInteger('a whole number'), v.minValue(0, 'at least 0')))
const share = { kind: 'number', schema: v.optional(fraction), range: [0, 1] } as const
const flag = { kind: 'boolean', schema: v.optional(v.boolean(), false), values: [true, false] } as const

export const actionFields = {
  description: {
    kind: 'string',
    schema: nonEmptyText(10_000),
    about: 'What the agent intends to do; the decision text of a record.',
  },
  category: { kind: 'string', schema: v.optional(nonEmptyText(64)), about: 'Category, if given.' },
  stakes: {
    kind: 'string',
    schema: v.optional(Stakes),
    values: stakesValues,
    assumed: 'medium',
    about:
      '`low`, `medium`, `high` or `critical`. Compared as `medium` if not given, unless the condition has `when_missing`.',
  },
  confidence: { ...share, about: '0 to 1, if given.' },
  tags: { kind: 'list', schema: v.optional(v.array(nonEmptyText(64)), () => []), about: 'Tags; use `contains`.' },
  project: { kind: 'string', schema: name, about: 'Project, if given.' },
  pr: { kind: 'number', schema: count, range: [1, Number.POSITIVE_INFINITY], about: 'Pull request, if given.' },
  scope: { kind: 'string', schema: name, about: 'Scope that the caller names in addition to the project.' },
  agent_id: {
    kind: 'string',
    schema: v.optional(nonEmptyText(256), 'tester'),
    about: 'The authenticated agent; the identity that a caller claims is ignored.',
  },
  phase: {
    kind: 'string',
    schema: v.optional(v.picklist(phases), 'check'),
    values: phases,
    about: '`check` (checkGuardrails), `pre_action` (preAction) or `record` (recordDecision).',
  },
  reason_count: {
    kind: 'number',
    schema: count,
    range: [0, Number.POSITIVE_INFINITY],
    about: 'Number of reasons, in the phases that have them.',
  },
  quality_score: { ...share, about: 'Quality of the record, 0 to 1; phase `record` only.' },
  instruction_like: {
    ...flag,
    about: 'Whether its text reads like instructions to a model, such as "ignore previous instructions".',
  },
  secret_masked: {
    ...flag,
    about: 'Whether a secret was masked in it, or is masked in what is stored of it: a key, a password, a cookie.',
  },
  has_deliberation: { ...flag, about: 'Whether it has a deliberation.' },
  has_reasoning: { ...flag, about: 'Whether it has steps of reasoning.' },
  has_query: { ...flag, about: 'Whether precedents were queried.' },
  has_check: { ...flag, about: 'Whether guardrails were checked before.' },
} as const satisfies Record<string, ActionField>

export type ActionFieldName = keyof typeof actionFields

const names = v.optional(v.array(nonEmptyText(256)), () => [])

/**
 * Facts about an action's past that the service itself looks up, for conditions that name them; callers can't supply them. They are looked
 * up only if a rule of the set needs them. The part before the dot names a group that is looked up at once.
 */
export const factFields = {
  'session.actions': {
    kind: 'list',
    schema: names,
    about:
      'What the agent was allowed to do before in this session: tools (`context.tool`), else categories, each once.',
  },
  'session.classifications': {
    kind: 'list',
    schema: names,
    about: 'Tags (`tag`) of the rules that fired on those actions.',
  },
  'session.observed': {
    kind: 'list',
    schema: names,
    about:
      'Calls of tools that the gateway saw succeed in this session, as `server/tool`, each once. Nothing that an agent says of itself is among them.',
  },
  'session.request': {
    kind: 'string',
    schema: name,
    about: 'The task that the session began with, if it was given (getSessionContext).',
  },
  'precedents.failed': {
    kind: 'number',
    schema: count,
    range: [0, Number.POSITIVE_INFINITY],
    about: 'How many of the precedents failed.',
  },
  'precedents.n': {
    kind: 'number',
    schema: count,
    range: [0, Number.POSITIVE_INFINITY],
    about: 'Precedents with an outcome: of the 50 nearest decisions those that are nearer than chance.',
  },
  'calibration.gap': {
    kind: 'number',
    schema: v.optional(v.pipe(v.number(), v.minValue(-1, 'at least -1'), v.maxValue(1, 'at most 1'))),
    range: [-1, 1],
    about:
      'Mean outcome less mean confidence of the agent in the category, or in all if the action names none: below 0 it is overconfident. Absent without reviews. Only reviews by others and by evidence count.',
  },
  'calibration.n': {
    kind: 'number',
    schema: count,
    range: [0, Number.POSITIVE_INFINITY],
    about: 'Decisions from which the gap is computed.',
  },
} as const satisfies Record<string, ActionField>

export type FactName = keyof typeof factFields
