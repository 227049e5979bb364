/** Turns raw parameters into declared ones: aliases, unknown names, validation. Derived only from the schemas. */

import * as v from 'valibot'
import { type CstpError, type Issue, invalidParam, invalidParams } from '../../sdk/errors.ts'
import { nearest } from '../../sdk/nearest.ts'
import { isObject } from './json.ts'
import { certainSecret, maskSecrets, withoutSecretTexts } from './secrets.ts'

type Schema = v.GenericSchema<unknown, unknown>
/** The parts of valibot's schema objects that are used here. */
interface Shape {
  type: string
  entries?: Record<string, Schema>
  wrapped?: Schema
  item?: Schema
  options?: Schema[]
  pipe?: { type: string; requirement?: unknown }[]
}

const shapeOf = (schema: Schema): Shape => schema as unknown as Shape
const camel = (name: string): string => name.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase())

/** Strips optional and nullable wrappers. */
function unwrap(schema: Schema): Schema {
  const { wrapped } = shapeOf(schema)
  return wrapped ? unwrap(wrapped) : schema
}

/** Searches a schema, its pipe, and the schema that it wraps. */
function seek<T>(schema: Schema, look: (one: Schema) => T | undefined): T | undefined {
  const { pipe, wrapped } = shapeOf(schema)
  for (const one of pipe?.slice(1) ?? []) {
    const found = look(one as unknown as Schema)
    if (found !== undefined) return found
  }
  const first = pipe?.[0]
  return first ? seek(first as unknown as Schema, look) : wrapped ? seek(wrapped, look) : undefined
}

const isIdentifier = (schema: Schema): boolean =>
  seek(schema, (one) => (one as unknown as { metadata?: { identifier?: true } }).metadata?.identifier) === true

/** Maximum number of entries of an array, if its schema declares one. */
const maxEntriesOf = (schema: Schema): number | undefined =>
  seek(schema, (one) => {
    const { type, requirement } = one as unknown as { type: string; requirement: number }
    return type === 'max_length' ? requirement : undefined
  })

/** The problems found in one call. */
interface Found {
  readonly issues: Issue[]
  /** True once enough problems have been found. */
  full(): boolean
}

/** Renames the keys of a value to their declared spelling; reports unknown keys, and keys given in two spellings. */
type Normalise = (value: unknown, path: string, found: Found) => unknown

const below = (path: string, key: string | number): string => (path ? `${path}.${key}` : String(key))

/** Key names that a free-form object can't hold. */
const unkept = new Set(['__proto__', 'prototype', 'constructor'])

/** Fields of a decision that a method of their own changes. */
const otherMethods: Record<string, string> = {
  outcome: 'reviewDecision',
  actual_result: 'reviewDecision',
  lessons: 'reviewDecision',
  links: 'linkDecisions',
  supersedes: 'linkDecisions',
  deliberation: 'recordThought',
}

function unknownKey(key: string, path: string, names: readonly string[]): Issue {
  const method = Object.hasOwn(otherMethods, key) ? otherMethods[key]! : null
  if (method !== null) return { path: shorten(path), message: `is set with ${method}`, expected: method, received: key }
  const near = nearest(key, names)
  const hint = near ? `did you mean ${near}?` : names.length > 0 ? `known are ${names.join(', ')}` : 'there are none'
  const expected = near ?? names.join(', ')
  return { path: shorten(path), message: `unknown parameter; ${hint}`, expected, received: shorten(key) }
}

/** @param open whether further keys are allowed; they are kept unchanged */
function normaliseObject(entries: Record<string, Schema>, open: boolean): Normalise {
  const known = new Map<string, string>()
  const inner = new Map<string, Normalise>()
  for (const [name, schema] of Object.entries(entries)) {
    known.set(name, name)
    known.set(camel(name), name)
    const normalise = normaliser(schema)
    if (normalise) inner.set(name, normalise)
    const other = name === 'id' ? 'decision_id' : 'id'
    if (isIdentifier(schema) && !Object.hasOwn(entries, other))
      for (const alias of [other, camel(other)]) known.set(alias, name)
  }
  const names = Object.keys(entries)
  return (value, path, found) => {
    if (Array.isArray(value)) {
      const [expected, received] = ['an object', 'an array']
      found.issues.push({
        path: shorten(path),
        message: `expected ${expected}, received ${received}`,
        expected,
        received,
      })
    }
    if (!isObject(value)) return value
    const result: Record<string, unknown> = {}
    for (const key of Object.keys(value)) {
      if (found.full()) break
      if (value[key] === undefined) continue
      const name = known.get(key) ?? (open ? key : undefined)
      const at = below(path, key)
      if (open && unkept.has(key)) {
        const message = 'a key of this name cannot be kept'
        found.issues.push({ path: shorten(at), message, expected: 'another name', received: key })
      } else if (name === undefined) found.issues.push(unknownKey(key, at, names))
      else if (Object.hasOwn(result, name)) {
        const message = `${shorten(name)} is given twice, in two spellings`
        found.issues.push({ path: shorten(at), message, expected: shorten(name), received: shorten(key) })
      } else {
        const normalise = inner.get(name)
        result[name] = normalise ? normalise(value[key], at, found) : value[key]
      }
    }
    return result
  }
}

/** Refuses an array that is too long before looking at its entries. */
function normaliseArray(each: Normalise | null, most: number | undefined): Normalise {
  return (value, path, found) => {
    if (!Array.isArray(value)) return value
    if (most !== undefined && value.length > most) {
      const expected = `at most ${most} entries`
      const message = `expected ${expected}, received ${value.length}`
      found.issues.push({ path: shorten(path), message, expected, received: String(value.length) })
      return []
    }
    return each ? value.map((item, index) => (found.full() ? item : each(item, below(path, index), found))) : value
  }
}

/** The normaliser of a schema; null if nothing in it has declared keys or bounds. */
function normaliser(schema: Schema): Normalise | null {
  const { type, entries, item, options } = shapeOf(unwrap(schema))
  if (entries && (type === 'object' || type === 'loose_object'))
    return normaliseObject(entries, type === 'loose_object')
  if (item && type === 'array') {
    const each = normaliser(item)
    const most = maxEntriesOf(schema)
    return each || most !== undefined ? normaliseArray(each, most) : null
  }
  if (options && type === 'union') return options.map(normaliser).find((one) => one !== null) ?? null
  return null
}

/** Of a union's issues, those of the options that got furthest into the value. */
function leaves(issue: v.BaseIssue<unknown>): v.BaseIssue<unknown>[] {
  if (issue.type !== 'union' || !issue.issues) return [issue]
  const deep = issue.issues.filter((inner) => (inner.path?.length ?? 0) > 0)
  return deep.length === 0
    ? [issue]
    : deep.map((inner) => ({ ...inner, path: [...(issue.path ?? []), ...(inner.path ?? [])] as never }))
}

/** A choice of the library, such as `("low" | "high")`, in words. */
function choiceInWords(_: string, options: string): string {
  const all = options.replaceAll('"', '').split(' | ')
  return `${all.slice(0, -1).join(', ')} or ${all.at(-1)}`
}

/** What the library calls a value, in words. A value itself is shown as JSON; of an object or an array only that it is one. */
export const inWords = (text: string): string =>
  text.startsWith('"')
    ? text
    : text
        .replace(/(?<!["\w])(?:Object|Array)(?!["\w])/g, (kind) => `an ${kind.toLowerCase()}`)
        .replace(/\(([^()|]+(?: \| [^()|]+)+)\)/g, choiceInWords)
        .replace(/^\((.+) \| (.+)\)$/, '$1, or $2')

function asIssue(issue: v.BaseIssue<unknown>): Issue {
  const path = shorten((issue.path ?? []).map((item) => String(item.key)).join('.'))
  const missing = issue.kind === 'schema' && issue.received === 'undefined'
  const expected = missing
    ? 'a value'
    : issue.kind === 'schema'
      ? inWords(issue.expected ?? issue.message)
      : issue.message
  const received = shorten(inWords(issue.received))
  // What is expected of a list or an object says what is wrong with it.
  const isSaid =
    issue.kind !== 'schema' && (received !== issue.received || (typeof issue.input === 'string' && received === '0'))
  const message = missing ? 'is required' : `expected ${expected}${isSaid ? '' : `, received ${received}`}`
  return { path, expected, received, message }
}

const maxIssues = 20

const kindOf = (value: unknown): string =>
  value === null ? 'null' : Array.isArray(value) ? 'an array' : `a ${typeof value}`

const refused = (issues: Issue[]): CstpError => invalidParams(issues.slice(0, maxIssues))

const normalisers = new WeakMap<Schema, ReturnType<typeof normaliser>>()

/** Compiles a method's parameter check: raw JSON in, declared values out. */
export function compileParams<S extends Schema>(schema: S): (raw: unknown) => v.InferOutput<S> {
  // Every workspace has the same methods.
  const known = normalisers.get(schema)
  const normalise = known === undefined ? normaliser(schema) : known
  normalisers.set(schema, normalise)
  return (raw) => {
    if (!isObject(raw)) {
      const [expected, received] = ['an object of named parameters', kindOf(raw)]
      throw refused([{ path: '', message: `expected ${expected}, received ${received}`, expected, received }])
    }
    checkKept(raw)
    const issues: Issue[] = []
    const found = { issues, full: () => issues.length >= maxIssues }
    const value = normalise ? normalise(raw, '', found) : raw
    if (issues.length > 0) throw refused(issues)
    const parsed = v.safeParse(schema, value, { abortPipeEarly: true })
    if (parsed.success) return parsed.output
    throw refused(parsed.issues.flatMap(leaves).map(asIssue))
  }
}

/**
 * The parameters as the method may store them: what is likely a secret is masked.
 * @throws CstpError `invalid_params` if they contain a certain secret, and such are refused
 */
export function storable<P>(params: P, how: 'mask' | 'reject' | 'allow'): P {
  if (how === 'allow') return params
  const masked = withoutSecretTexts(params)
  // What has no likely secret has no certain one.
  const found = how === 'reject' && masked !== params ? certainSecret(params) : null
  if (found === null) return masked
  throw invalidParam(
    found.path,
    'a text without secrets; refer to the secret by name, or have the operator set CSTP_SECRETS=mask',
    found.shown,
  )
}

// Refuses values that stores and JSON would change: non-finite numbers, broken Unicode, very deep nesting.

/** Deeper values are refused: no meaningful value is nested so deeply, and recursive code would overflow the stack. */
const maxDepth = 64

/** Finds the first part of a value that can't be stored unchanged; null if none. `path` is built from the inside out. */
function findUnkept(
  value: unknown,
  depth: number,
): { path: (string | number)[]; expected: string; received: string } | null {
  if (typeof value === 'string')
    return value.isWellFormed()
      ? null
      : { path: [], expected: 'well-formed Unicode text', received: 'a lone surrogate' }
  if (typeof value === 'number')
    return Number.isFinite(value) ? null : { path: [], expected: 'a finite number', received: 'one too large' }
  if (value === null || typeof value !== 'object') return null
  if (depth === maxDepth) return { path: [], expected: `at most ${maxDepth} levels`, received: 'a deeper value' }
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index++) {
      const found = findUnkept(value[index], depth + 1)
      if (found) return { ...found, path: [index, ...found.path] }
    }
    return null
  }
  for (const key of Object.keys(value)) {
    const found = findUnkept(key, depth) ?? findUnkept((value as Record<string, unknown>)[key], depth + 1)
    if (found) return { ...found, path: [key, ...found.path] }
  }
  return null
}

/** Characters of a path or value that are looked at for secrets: the longest is recognised by its beginning. */
const looked = 1_000

/** A path or value for an error: short, and without what is likely a secret. */
export function shorten(text: string): string {
  const shown = maskSecrets(text.slice(0, looked))
  return shown.length > 100 ? `${shown.slice(0, 100).toWellFormed()}…` : shown.toWellFormed()
}

/** @throws CstpError `invalid_params` with the path of the first part that would not be stored unchanged */
export function checkKept(params: unknown): void {
  const unkept = findUnkept(params, 0)
  if (unkept === null) return
  const { path, expected, received } = unkept
  const message = `expected ${expected}, received ${received}`
  throw invalidParam(shorten(path.join('.')), expected, received, message)
}
