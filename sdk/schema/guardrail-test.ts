/** Table tests of guardrails: actions and the verdicts that rules must give on them. */
import * as v from 'valibot'
import { filledText, fraction, Stakes } from './decision.ts'

const d = v.description
const count = v.pipe(v.number(), v.safeInteger('a whole number'), v.minValue(0, 'at least 0'))
const flag = v.optional(v.boolean(), false)

/** What a case gives of an action; the rest is as a caller leaves it. */
const TestAction = v.strictObject({
  description: filledText(10_000),
  category: v.optional(filledText(64)),
  stakes: v.pipe(v.optional(Stakes, 'medium'), d('What is at risk.')),
  confidence: v.optional(fraction),
  tags: v.optional(v.array(filledText(64)), () => []),
  project: v.optional(filledText(256)),
  scope: v.optional(filledText(256)),
  agent_id: v.pipe(v.optional(filledText(256), 'tester'), d('The authenticated agent.')),
  phase: v.pipe(v.optional(v.picklist(['check', 'pre_action', 'record']), 'check'), d('Who asks.')),
  reason_count: v.optional(count),
  quality_score: v.optional(fraction),
  has_deliberation: flag,
  has_reasoning: flag,
  has_query: flag,
  has_check: flag,
  context: v.optional(v.record(v.string(), v.unknown()), () => ({})),
})

/** What conditions on the past find in a case. */
const Past = v.strictObject({
  similar: v.pipe(v.optional(count, 0), d('Past decisions that every semantic condition finds.')),
  count: v.pipe(v.optional(count, 0), d('Decisions that every temporal condition counts.')),
  aggregate: v.pipe(
    v.optional(v.strictObject({ decisions: count, value: v.nullable(v.number()) })),
    d('What every aggregate condition finds; no decisions where not given.'),
  ),
})

const ids = v.array(v.string())

/** A row of a table test: an action, and what the rules must say of it. */
export const TestCase = v.strictObject({
  name: v.pipe(filledText(256), d('What the case shows.')),
  action: v.pipe(TestAction, d('The action that is judged.')),
  now: v.optional(
    v.pipe(v.string(), v.isoTimestamp('a time such as 2026-07-01T10:00:00Z'), d('The time at which it is judged.')),
  ),
  past: v.pipe(
    v.optional(Past, () => ({ similar: 0, count: 0 })),
    d('What the past holds; nothing where not given.'),
  ),
  expect: v.pipe(
    v.picklist(['pass', 'warn', 'block']),
    d('`block`: not allowed; `warn`: allowed with a warning; `pass`: neither.'),
  ),
  fires: v.optional(v.pipe(ids, d('The rules that fire, exactly these; not looked at where not given.'))),
})
/** A row of a table test: an action, and what the rules must say of it. */
export type TestCase = v.InferOutput<typeof TestCase>

/** A file of table tests, `<rules>.test.yaml` beside `<rules>.yaml`. */
export const TestFile = v.strictObject({
  rules: v.pipe(
    v.optional(v.union([filledText(256), v.array(filledText(256))])),
    d('Rule files beside this one; the one of the same name where not given.'),
  ),
  cases: v.pipe(v.array(TestCase), v.minLength(1, 'at least one case'), d('The table.')),
})
export type TestFile = v.InferOutput<typeof TestFile>
