/** Conditions of control rules, compiled. Whatever the payload holds, they answer true or false and never throw. */
import type { ControlCondition } from '../../../sdk/schema/control.ts'

export type Payload = Record<string, unknown>
export type Test = (payload: Payload) => boolean

/** The value of a field, own properties only; undefined where it is not there. */
function reader(field: string): (payload: Payload) => unknown {
  const steps = field.split('.')
  const [first] = steps
  if (steps.length === 1) return (payload) => (Object.hasOwn(payload, first!) ? payload[first!] : undefined)
  return (payload) =>
    steps.reduce<unknown>(
      (inner, step) =>
        inner !== null && typeof inner === 'object' && Object.hasOwn(inner, step)
          ? (inner as Payload)[step]
          : undefined,
      payload,
    )
}

const truthy = (value: unknown): boolean =>
  value === true || (typeof value === 'number' && value !== 0) || (typeof value === 'string' && value.trim() !== '')

export function compileCondition(condition: ControlCondition): Test {
  const { field, equals, gt, lt, in: among, absent } = condition
  const read = reader(field)
  if (equals !== undefined) return (payload) => read(payload) === equals
  if (gt !== undefined)
    return (payload) => {
      const value = read(payload)
      return typeof value === 'number' && value > gt
    }
  if (lt !== undefined)
    return (payload) => {
      const value = read(payload)
      return typeof value === 'number' && value < lt
    }
  if (among !== undefined) {
    const values = new Set<unknown>(among)
    return (payload) => values.has(read(payload))
  }
  if (absent !== undefined) return (payload) => ((read(payload) ?? null) === null) === absent
  return (payload) => truthy(read(payload))
}
