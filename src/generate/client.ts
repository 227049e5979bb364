/** The generated half of the client: parameters and results as TypeScript types, and a documented function for each method. */
import type { Method } from '../calls/method.ts'
import { wrap } from '../cli/terminal.ts'
import { type JsonSchema, jsonSchema, nameOf } from '../core/json-schema.ts'
import { exampleCode, exampleOf } from './examples.ts'
import { subjectOf } from './subjects.ts'

/** A doc comment of these paragraphs. @param tags lines below them, unchanged */
function comment(paragraphs: string[], indent: string, tags: readonly string[] = []): string {
  const safe = paragraphs.map((text) => text.replaceAll('*/', '* /'))
  if (tags.length === 0 && safe.length === 1 && safe[0]!.length <= 110) return `${indent}/** ${safe[0]} */\n`
  const lines = safe.flatMap((text, index) => [...(index > 0 ? [''] : []), ...wrap(text, 110)])
  lines.push(...tags.map((line) => line.replaceAll('*/', '* /')))
  return `${indent}/**\n${lines.map((line) => `${indent} *${line && ` ${line}`}\n`).join('')}${indent} */\n`
}

const spelt = (value: unknown): string =>
  typeof value === 'string' ? `'${value.replaceAll("'", "\\'")}'` : JSON.stringify(value)

/** Types that were referred to by name. */
type Used = Map<string, JsonSchema>

function typeOf(schema: JsonSchema, indent: string, used: Used): string {
  const name = nameOf(schema)
  if (name !== null) {
    used.set(name, schema)
    return name
  }
  return shapeOf(schema, indent, used)
}

function shapeOf(schema: JsonSchema, indent: string, used: Used): string {
  const { const: only, enum: values, anyOf, items, properties, additionalProperties: others, type } = schema
  if (only !== undefined) return spelt(only)
  if (values) return values.map(spelt).join(' | ')
  if (anyOf) return [...new Set(anyOf.map((one) => typeOf(one, indent, used)))].join(' | ')
  if (type === 'array') {
    const item = items ? typeOf(items, indent, used) : 'unknown'
    return /[ |]/.test(item) && !/^\{|^Omit</.test(item) ? `(${item})[]` : `${item}[]`
  }
  if (properties && Object.keys(properties).length > 0) return omission(schema, used) ?? objectOf(schema, indent, used)
  if (type === 'object')
    return typeof others === 'object' ? `Record<string, ${typeOf(others, indent, used)}>` : 'Record<string, never>'
  if (type === 'integer') return 'number'
  return type ?? 'unknown'
}

/** A large shape that lacks at most two fields of a named one, as an `Omit` of that type; null for others. */
function omission({ properties = {} }: JsonSchema, used: Used): string | null {
  const own = Object.entries(properties)
  if (own.length < 10) return null
  for (const [name, { properties: all = {} }] of used) {
    const without = Object.keys(all).filter((field) => !Object.hasOwn(properties, field))
    const same = own.every(([field, schema]) => JSON.stringify(schema) === JSON.stringify(all[field]))
    if (same && without.length <= 2) return `Omit<${name}, ${without.map(spelt).join(' | ')}>`
  }
  return null
}

function objectOf(
  { properties = {}, required = [], additionalProperties }: JsonSchema,
  indent: string,
  used: Used,
): string {
  const inner = `${indent}  `
  const fields = Object.entries(properties).map(([name, field]) => {
    const fallback = field.default
    const shown = fallback === undefined || fallback === null ? '' : ` Default \`${JSON.stringify(fallback)}\`.`
    const text = `${field.description ?? ''}${shown}`.trim()
    const type = typeOf(field, inner, used)
    const member = `${name}${required.includes(name) ? `: ${type}` : `?: ${type} | undefined`}`
    const line = `${inner}/** ${text.replaceAll('*/', '* /')} */ ${member}`
    if (text && line.length <= 120 && !type.includes('\n')) return `${line}\n`
    return `${text ? comment([text], inner) : ''}${inner}${member}\n`
  })
  const open = typeof additionalProperties === 'object' ? `${inner}[field: string]: unknown\n` : ''
  return `{\n${fields.join('')}${open}${indent}}`
}

const declared = (name: string, schema: JsonSchema, used: Used): string =>
  schema.properties && Object.keys(schema.properties).length > 0
    ? `export interface ${name} ${objectOf(schema, '', used)}\n`
    : `export type ${name} = ${shapeOf(schema, '', used)}\n`

const upper = (name: string): string => name[0]!.toUpperCase() + name.slice(1)

function method(
  name: string,
  { summary, scope, effect, failure }: Method,
  params: JsonSchema,
  example: string,
): string {
  const engine = failure === 'internal_error' ? '' : `, engine failure \`${failure}\``
  const optional = (params.required ?? []).length === 0 ? '?' : ''
  const type = upper(name)
  const tags = [`@category ${subjectOf(name)}`, '@example', '```ts', example, '```']
  const text = comment([`${summary} Scope \`${scope}\`, effect \`${effect}\`${engine}.`], '  ', tags)
  return `${text}  ${name}(params${optional}: ${type}Params, options?: CallOptions): Promise<${type}Result>\n`
}

/** The comment on a named schema; for the input form of a shape it says so. */
function shapeComment(name: string, about: ReadonlyMap<string, string>): string {
  const own = about.get(name)
  if (own) return comment([own], '')
  const base = about.get(name.replace(/Input$/, ''))
  if (!base) throw new Error(`the schema ${name} has no comment`)
  return comment([base, 'The input form of this shape.'], '')
}

/** What applies to every function of the client. */
const about = [
  'One function per method of the service, named without `cstp.`, with its scope and effect.',
  'If the answer to a call is lost, the call is sent again if its effect is `read`, or `keyed` with an `idempotency_key`. If the engine fails, the error is `internal_error` unless another one is named.',
]

/** The text of `sdk/client.gen.ts`. @param comments comment of each schema, by name */
export async function clientSource(
  methods: ReadonlyMap<string, Method>,
  comments: ReadonlyMap<string, string>,
): Promise<string> {
  const used: Used = new Map()
  const table: string[] = []
  const functions: string[] = []
  const types: string[] = []
  for (const [wire, one] of methods) {
    const name = wire.slice('cstp.'.length)
    const params = jsonSchema(one.params, 'input')
    const result = jsonSchema(one.result, 'output')
    functions.push(method(name, one, params, exampleCode(name, await exampleOf(name))))
    table.push(`  ${name}: '${one.effect}',\n`)
    types.push(`${comment([`Parameters of \`${wire}\`.`], '')}${declared(`${upper(name)}Params`, params, used)}`)
    const known = nameOf(result)
    if (known !== null) used.set(known, result)
    const body =
      known === null ? declared(`${upper(name)}Result`, result, used) : `export type ${upper(name)}Result = ${known}\n`
    types.push(`${comment([`Result of \`${wire}\`.`], '')}${body}`)
  }
  const shapes = new Map<string, string>()
  for (let size = -1; size !== shapes.size; ) {
    size = shapes.size
    for (const [name, schema] of [...used])
      if (!shapes.has(name)) shapes.set(name, `${shapeComment(name, comments)}${declared(name, schema, used)}`)
  }
  const named = [...shapes].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, text]) => text)
  return [
    '/** Types and functions of every method. Generated by `bun run generate`. */\n' +
      "import type { CallOptions, Effect } from './client/options.ts'\n",
    `${comment(about, '')}export interface Methods {\n${functions.join('')}}\n`,
    '/** What a call of each method leaves behind. */\n' +
      `export const methods = {\n${table.join('')}} as const satisfies Record<keyof Methods, Effect>\n`,
    ...types,
    ...named,
  ].join('\n')
}
