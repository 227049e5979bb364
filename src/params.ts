/** Parameters as they come to parameters as they are declared: aliases, unknown names, validation. Derived from the schemas alone. */
import * as v from 'valibot'
import { type CstpError, type Issue, invalidParams } from '../sdk/errors.ts'
import { nearest } from './domain/nearest.ts'

type Schema = v.GenericSchema<unknown, unknown>
/** The parts of valibot's schema objects that are walked here. */
interface Shape {
  type: string
  entries?: Record<string, Schema>
  wrapped?: Schema
  item?: Schema
  options?: Schema[]
  pipe?: unknown[]
}

const camel = (name: string): string => name.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase())

/** Looks through optional, nullable and pipes. */
function unwrap(schema: Schema): Schema {
  const { wrapped, pipe } = schema as unknown as Shape
  if (wrapped) return unwrap(wrapped)
  return pipe ? ({ ...schema, pipe: undefined } as unknown as Schema) : schema
}

/** Brings the keys of a value to their declared spelling; unknown and doubly spelt keys go to `issues`. */
type Normalise = (value: unknown, path: string, issues: Issue[]) => unknown

const plainObject = (value: unknown): value is Record<string, unknown> =>
  value !== null && typeof value === 'object' && !Array.isArray(value)

function normaliseObject(entries: Record<string, Schema>): Normalise {
  const known = new Map<string, string>()
  const inner = new Map<string, Normalise>()
  for (const [name, schema] of Object.entries(entries)) {
    known.set(name, name)
    known.set(camel(name), name)
    const normalise = normaliser(schema)
    if (normalise) inner.set(name, normalise)
    const meta = v.getMetadata(schema as Parameters<typeof v.getMetadata>[0])
    const other = name === 'id' ? 'decision_id' : 'id'
    if (meta.identifier && !Object.hasOwn(entries, other))
      for (const alias of [other, camel(other)]) known.set(alias, name)
  }
  const names = Object.keys(entries)
  return (value, path, issues) => {
    if (!plainObject(value)) return value
    const result: Record<string, unknown> = {}
    for (const key of Object.keys(value)) {
      const name = known.get(key)
      const at = path ? `${path}.${key}` : key
      if (name === undefined) {
        const near = nearest(key, names)
        const hint = near
          ? `did you mean ${near}?`
          : names.length > 0
            ? `known are ${names.join(', ')}`
            : 'there are none'
        issues.push({
          path: shorten(at),
          message: `unknown parameter; ${hint}`,
          expected: near ?? names.join(', '),
          received: shorten(key),
        })
      } else if (Object.hasOwn(result, name)) {
        issues.push({
          path: shorten(at),
          message: `${name} is given twice, in two spellings`,
          expected: name,
          received: shorten(key),
        })
      } else result[name] = inner.get(name)?.(value[key], at, issues) ?? value[key]
    }
    return result
  }
}

/** The normaliser of a schema, or null where nothing inside it has declared keys. */
function normaliser(schema: Schema): Normalise | null {
  const shape = unwrap(schema) as unknown as Shape
  if (shape.type === 'object' && shape.entries) return normaliseObject(shape.entries)
  if (shape.type === 'array' && shape.item) {
    const each = normaliser(shape.item)
    return (
      each &&
      ((value, path, issues) =>
        Array.isArray(value) ? value.map((item, index) => each(item, `${path}.${index}`, issues) ?? item) : value)
    )
  }
  if (shape.options && shape.type === 'union') {
    const option = shape.options.map(normaliser).find((one) => one !== null)
    return option ?? null
  }
  return null
}

const shorten = (text: string): string =>
  text.length > 100 ? `${text.slice(0, 100).toWellFormed()}…` : text.toWellFormed()

/** Of a union's issues, those of the option that got furthest into the value. */
function leaves(issue: v.BaseIssue<unknown>): v.BaseIssue<unknown>[] {
  if (issue.type !== 'union' || !issue.issues) return [issue]
  const deep = issue.issues.filter((inner) => (inner.path?.length ?? 0) > 0)
  return deep.length === 0
    ? [issue]
    : deep.map((inner) => ({ ...inner, path: [...(issue.path ?? []), ...(inner.path ?? [])] as never }))
}

function asIssue(issue: v.BaseIssue<unknown>): Issue {
  const path = shorten((issue.path ?? []).map((item) => String(item.key)).join('.'))
  const missing = issue.kind === 'schema' && issue.received === 'undefined'
  const expected =
    issue.kind === 'schema' && !missing ? (issue.expected ?? issue.message) : missing ? 'a value' : issue.message
  const received = shorten(issue.received)
  return { path, expected, received, message: missing ? 'is required' : `expected ${expected}, received ${received}` }
}

const mostIssues = 20

/** Compiles the check of one method's parameters: raw JSON in, declared values out. */
export function compileParams<S extends Schema>(schema: S): (raw: unknown) => v.InferOutput<S> {
  const normalise = normaliser(schema)
  return (raw) => {
    const issues: Issue[] = []
    const value = normalise ? normalise(raw, '', issues) : raw
    if (issues.length > 0) throw refused(issues)
    const parsed = v.safeParse(schema, value)
    if (parsed.success) return parsed.output
    throw refused(parsed.issues.flatMap(leaves).map(asIssue))
  }
}

const refused = (issues: Issue[]): CstpError => invalidParams(issues.slice(0, mostIssues))
