/** Table tests of guardrails: actions and the verdicts that rules must give on them. */
import * as v from 'valibot'
import { type ActionFieldName, actionFields, type FactName, factFields } from './action.ts'
import { nonEmptyText } from './decision.ts'

const d = v.description
const count = v.pipe(v.number(), v.safeInteger('a whole number'), v.minValue(0, 'at least 0'))

type Fields = { [N in ActionFieldName]: (typeof actionFields)[N]['schema'] }
const fields = Object.fromEntries(
  Object.entries(actionFields).map(([name, { schema, about }]) => [name, v.pipe(schema as v.GenericSchema, d(about))]),
) as object as Fields

/** An action as a case gives it; only the description is required. */
const TestAction = v.strictObject({
  ...fields,
  context: v.optional(v.record(v.string(), v.unknown()), () => ({})),
})

/** The facts of a group, such as `session.actions` as `session: { actions }`. */
const factsOf = (group: string) =>
  v.optional(
    v.pipe(
      v.strictObject(
        Object.fromEntries(
          (Object.keys(factFields) as FactName[])
            .filter((one) => one.startsWith(`${group}.`))
            .map((one) => [one.slice(group.length + 1), factFields[one].schema as v.GenericSchema]),
        ),
      ),
      d(`What fields \`${group}.…\` are.`),
    ),
  )

/** What conditions on past decisions find in a case. */
export const Past = v.strictObject({
  session: factsOf('session'),
  precedents: factsOf('precedents'),
  calibration: factsOf('calibration'),
  evidence: v.pipe(
    v.optional(v.array(nonEmptyText(128)), () => []),
    d('Types of events that satisfy the requirements of a rule; none by default.'),
  ),
  similar: v.pipe(v.optional(count, 0), d('Past decisions found by every semantic condition.')),
  count: v.pipe(v.optional(count, 0), d('Decisions counted by every temporal condition.')),
  aggregate: v.pipe(
    v.optional(v.strictObject({ decisions: count, value: v.nullable(v.number()) })),
    d('Result of every aggregate condition; no decisions by default.'),
  ),
})

/** A row of a table test: an action, and the verdict that the rules must give on it. */
export const TestCase = v.strictObject({
  name: v.pipe(nonEmptyText(256), d('What the case shows.')),
  action: v.pipe(TestAction, d('The action to check.')),
  now: v.optional(
    v.pipe(v.string(), v.isoTimestamp('a time such as 2026-07-01T10:00:00Z'), d('The time of the check.')),
  ),
  past: v.pipe(
    v.optional(Past, () => ({ evidence: [], similar: 0, count: 0 })),
    d('What conditions on past decisions find; nothing by default.'),
  ),
  expect: v.pipe(
    v.picklist(['pass', 'warn', 'block']),
    d('`block`: not allowed; `warn`: allowed with a warning; `pass`: neither.'),
  ),
  fires: v.optional(v.pipe(v.array(v.string()), d('Exactly the rules that must fire; any by default.'))),
})
/** A row of a table test: an action, and the verdict that the rules must give on it. */
export type TestCase = v.InferOutput<typeof TestCase>

/** A file of table tests, `<rules>.test.yaml` next to `<rules>.yaml`. */
export const TestFile = v.strictObject({
  rules: v.pipe(
    v.optional(v.union([nonEmptyText(256), v.array(nonEmptyText(256))])),
    d(
      'Rule files, by paths relative to this file, loaded as one set; `shipped` stands for the built-in rules. By default the file with the same name.',
    ),
  ),
  cases: v.pipe(v.array(TestCase), v.minLength(1, 'at least one case'), d('The table.')),
})
export type TestFile = v.InferOutput<typeof TestFile>
