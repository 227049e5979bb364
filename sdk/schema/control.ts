/** Control rule files: which events support which control of a framework, as an auditor reads them in YAML. */
import * as v from 'valibot'
import { filledText } from './decision.ts'

const d = v.description
const name = filledText(256)
const number = v.pipe(v.number(), v.finite('a number'))
/** What a control rule compares a payload field with. */
export const Scalar = v.union([v.string(), number, v.boolean()])
/** What a control rule compares a payload field with. */
export type Scalar = v.InferOutput<typeof Scalar>

/** The tests of a condition, which has exactly one of them. */
export const tests = ['equals', 'gt', 'lt', 'truthy', 'in', 'absent'] as const

/** A condition on one field of an event's payload. A field of another kind makes it false. */
export const ControlCondition = v.strictObject({
  field: v.pipe(name, d('Field of the payload; dots lead into objects.')),
  equals: v.optional(v.pipe(Scalar, d('It is this very value, of the same kind.'))),
  gt: v.optional(v.pipe(number, d('It is a number above this.'))),
  lt: v.optional(v.pipe(number, d('It is a number below this.'))),
  truthy: v.optional(v.pipe(v.literal(true), d('It is true, a text that is not blank, or a number other than 0.'))),
  in: v.optional(
    v.pipe(v.array(Scalar), v.minLength(1, 'at least one value'), d('It is one of these values, of the same kind.')),
  ),
  absent: v.optional(v.pipe(v.boolean(), d('With true, it is not there or null; with false, it is.'))),
})
export type ControlCondition = v.InferOutput<typeof ControlCondition>

const id = v.pipe(
  v.string(),
  v.regex(/^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$/, 'letters, digits and . _ : - (at most 128)'),
)

/** One rule: which events support a control, or why they fall short of it. */
export const ControlRule = v.strictObject({
  id: v.pipe(id, d('Unique over all files.')),
  framework: v.optional(v.pipe(name, d('Framework of the control, where it is not that of the file.'))),
  stage: v.pipe(name, d('Part of the framework that the control belongs to.')),
  function_id: v.pipe(id, d('Identifier of the control.')),
  control_name: v.pipe(name, d('Name of the control.')),
  description: v.optional(v.pipe(filledText(2_000), d('What a match shows. The rule makes a mapping.'))),
  insufficient_evidence: v.optional(
    v.pipe(
      v.literal(true),
      d('The rule makes no mapping: it says why the event does not support the control, where no other rule maps it.'),
    ),
  ),
  reason: v.optional(v.pipe(filledText(2_000), d('Why the event does not support the control, in plain language.'))),
  match: v.strictObject({
    event_type: v.pipe(name, d('Type of the events that the rule looks at.')),
    conditions: v.pipe(
      v.optional(v.array(ControlCondition), () => []),
      d('All must hold.'),
    ),
  }),
})
/** One rule: which events support a control, or why they fall short of it. */
export type ControlRule = v.InferOutput<typeof ControlRule>

/** A file of control rules of one framework and one class of evidence. */
export const ControlFile = v.strictObject({
  framework: v.pipe(name, d('Name of the framework.')),
  version: v.pipe(name, d('Version of this file, as a text.')),
  date: v.pipe(v.string(), v.isoDate('a date such as 2026-07-01'), d('When this file was last changed.')),
  source: v.pipe(filledText(2_000), d('The document that the rules were written from.')),
  note: v.pipe(filledText(2_000), d('What a reader of the mappings has to know.')),
  evidence_class: v.pipe(
    v.picklist(['observed', 'attested']),
    d('Class of the events that the rules look at; never another.'),
  ),
  rules: v.pipe(v.array(ControlRule), v.minLength(1, 'at least one rule'), d('Rules, in the order of the report.')),
})
/** A file of control rules of one framework and one class of evidence. */
export type ControlFile = v.InferOutput<typeof ControlFile>
