/** Completes records that an earlier version stored without a field that was added since. */
import * as v from 'valibot'
import { DecisionRecord } from './decision.ts'

/** The parts of valibot's schema objects that are used here. */
interface Shape {
  type: string
  entries?: Record<string, v.GenericSchema>
  wrapped?: v.GenericSchema
  item?: v.GenericSchema
}

/** Completes a value in place. @returns whether something was missing */
export type Complete = (value: unknown) => boolean

const shapeOf = (schema: v.GenericSchema): Shape => schema as unknown as Shape

/** Creates the value of a missing field; null if the field is required, or if its absence has a meaning. */
function defaultOf(schema: v.GenericSchema): (() => unknown) | null {
  const { type } = shapeOf(schema)
  if (type === 'optional' || type === 'nullish')
    return v.getDefault(schema as never) === undefined ? null : () => v.getDefault(schema as never)
  if (type === 'nullable') return () => null
  if (type === 'array') return () => []
  return type === 'boolean' ? () => false : null
}

/**
 * Derives from a schema how its values are completed. A missing field gets its declared default; without one, a nullable field is null, a list
 * empty, and a flag false. All other fields are required in every version.
 */
export function completing(schema: v.GenericSchema): Complete {
  const { entries, wrapped, item } = shapeOf(schema)
  if (wrapped) return completing(wrapped)
  if (item) {
    const each = completing(item)
    return (value) => Array.isArray(value) && value.reduce<boolean>((missing, one) => each(one) || missing, false)
  }
  if (!entries) return () => false
  const fields = Object.entries(entries).map(([name, of]) => ({ name, create: defaultOf(of), inner: completing(of) }))
  return (value) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return false
    const fieldsOf = value as Record<string, unknown>
    let isMissing = false
    for (const { name, create, inner } of fields)
      if (fieldsOf[name] !== undefined) isMissing = inner(fieldsOf[name]) || isMissing
      else if (create) {
        fieldsOf[name] = create()
        isMissing = true
      }
    return isMissing
  }
}

/**
 * Fields of records, at any depth, that were added after format 1. Programs write all fields that they know, so a text with all of these lacks
 * nothing and need not be parsed. Each name occurs nowhere else in records.
 */
export const laterFields: readonly string[] = []

/** Completes a stored record in place. @returns whether something was missing */
export const completeRecord: Complete = completing(DecisionRecord)
