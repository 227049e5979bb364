/** Control rule files: which events support which control of a framework, as an auditor reads them in YAML. */
import * as v from 'valibot'
import { nonEmptyText } from './decision.ts'

const d = v.description
const name = nonEmptyText(256)
const number = v.pipe(v.number(), v.finite('a number'))
/** What a control rule compares a payload field with. */
export const Scalar = v.union([v.string(), number, v.boolean()])
/** What a control rule compares a payload field with. */
export type Scalar = v.InferOutput<typeof Scalar>

/** The tests of a condition, which has exactly one of them. */
export const tests = ['equals', 'gt', 'lt', 'truthy', 'in', 'absent'] as const

/** A condition on one field of an event's payload. A field of another kind makes it false. */
export const ControlCondition = v.strictObject({
  field: v.pipe(name, d('Field of the payload; dots separate nested fields.')),
  equals: v.optional(v.pipe(Scalar, d('The field equals this value, with the same type.'))),
  gt: v.optional(v.pipe(number, d('The field is a number above this.'))),
  lt: v.optional(v.pipe(number, d('The field is a number below this.'))),
  truthy: v.optional(v.pipe(v.literal(true), d('The field is true, a non-blank text, or a number other than 0.'))),
  in: v.optional(
    v.pipe(
      v.array(Scalar),
      v.minLength(1, 'at least one value'),
      d('The field equals one of these values, with the same type.'),
    ),
  ),
  absent: v.optional(v.pipe(v.boolean(), d('With true, the field is absent or null; with false, it is neither.'))),
})
export type ControlCondition = v.InferOutput<typeof ControlCondition>

const id = v.pipe(
  v.string(),
  v.regex(/^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$/, 'letters, digits and . _ : - (at most 128)'),
)

/** One rule: which events support a control, or why they fall short of it. */
export const ControlRule = v.strictObject({
  id: v.pipe(id, d('Unique across all files.')),
  framework: v.optional(v.pipe(name, d('Framework of the control, if it differs from that of the file.'))),
  stage: v.pipe(name, d('Part of the framework that the control belongs to.')),
  function_id: v.pipe(id, d('Identifier of the control.')),
  control_name: v.pipe(name, d('Name of the control.')),
  description: v.optional(v.pipe(nonEmptyText(2_000), d('What a match shows. The rule produces a mapping.'))),
  insufficient_evidence: v.optional(
    v.pipe(
      v.literal(true),
      d(
        'The rule produces no mapping; it gives the reason why the event does not support the control, unless another rule maps it.',
      ),
    ),
  ),
  reason: v.optional(v.pipe(nonEmptyText(2_000), d('Why the event does not support the control, in plain language.'))),
  match: v.strictObject({
    event_type: v.pipe(name, d('Type of the events to which the rule applies.')),
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
  source: v.pipe(nonEmptyText(2_000), d('The document on which the rules are based.')),
  note: v.pipe(nonEmptyText(2_000), d('Notes for readers of the mappings.')),
  evidence_class: v.pipe(
    v.picklist(['observed', 'attested']),
    d('Class of the events to which the rules apply; no other class is mapped.'),
  ),
  rules: v.pipe(v.array(ControlRule), v.minLength(1, 'at least one rule'), d('Rules, in the order of the report.')),
})
/** A file of control rules of one framework and one class of evidence. */
export type ControlFile = v.InferOutput<typeof ControlFile>
