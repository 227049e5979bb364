/** Derives flags from the declared parameters of a method, and parameters from the values of these flags. */
import type { ParamsSchema } from '../calls/method.ts'
import { type JsonSchema, jsonSchema } from '../core/json-schema.ts'
import { typeName } from '../core/schema-text.ts'
import type { Flag, Flags } from './command.ts'
import { misuse } from './failure.ts'

/** One parameter on the command line. */
interface Parameter {
  name: string
  schema: JsonSchema
}

export interface Parameters {
  flags: Flags
  /** The parameters given by these flags; the server fills in defaults. @throws Failure naming the flag */
  read(values: Record<string, boolean | string | string[] | undefined>): Record<string, unknown>
}

const inner = ({ anyOf, ...schema }: JsonSchema): JsonSchema => {
  const one = anyOf?.find(({ type, const: value }) => type !== 'null' && value !== null)
  return one ? { ...inner(one), ...schema } : schema
}
const isList = (schema: JsonSchema): boolean => schema.type === 'array' || (schema.anyOf?.some(isList) ?? false)
const itemOf = (schema: JsonSchema): JsonSchema =>
  schema.items ? inner(schema.items) : (schema.anyOf?.map(itemOf).find(({ type, enum: some }) => type ?? some) ?? {})
const isText = (schema: JsonSchema): boolean => {
  const { type, enum: choices } = inner(schema)
  return type === 'string' || choices !== undefined
}

/** Parses text from the command line by the type in the schema; anything else is JSON. */
export function parsedValue(name: string, schema: JsonSchema, text: string): unknown {
  const { type, enum: choices } = inner(schema)
  if (choices && !choices.includes(text))
    throw misuse(`${name} is one of ${choices.join(', ')}; received ${JSON.stringify(text)}`)
  if (schema.anyOf?.some(isText) || isText(schema)) return text
  if (type === 'number' || type === 'integer') {
    const number = Number(text)
    if (text.trim() !== '' && Number.isFinite(number)) return number
    throw misuse(`${name} needs a number, received ${JSON.stringify(text)}`)
  }
  if (type === 'boolean') {
    if (text === 'true' || text === 'false') return text === 'true'
    throw misuse(`${name} is true or false, received ${JSON.stringify(text)}`)
  }
  try {
    return JSON.parse(text)
  } catch {
    throw misuse(`${name} needs ${typeName(schema)} as JSON, received ${JSON.stringify(text)}`)
  }
}

/** Parses `technical: the team knows it` into the object that the schema requires. */
function reasonOf(name: string, text: string): { type: string; text: string } {
  const [, type, rest] = /^\s*([\p{L}_-]+)\s*:\s*(\S[\s\S]*)$/u.exec(text) ?? []
  if (type === undefined || rest === undefined)
    throw misuse(
      `${name} needs a type and a text, such as "technical: the team knows it"; received ${JSON.stringify(text)}`,
    )
  return { type, text: rest }
}

const isReason = ({ properties }: JsonSchema): boolean =>
  properties !== undefined && 'type' in properties && 'text' in properties

/** Placeholder for the value in the help. */
function placeholderOf(schema: JsonSchema): string {
  const { type, enum: choices } = inner(schema)
  if (choices) return choices.join('|')
  if (type === 'number' || type === 'integer') return schema.maximum === 1 || inner(schema).maximum === 1 ? '0..1' : 'n'
  if (type === 'boolean') return 'true|false'
  return type === 'string' ? 'text' : 'json'
}

/** Text about the default value, unless the description mentions it or it is empty. */
function defaultOf({ default: fallback, description = '' }: JsonSchema): string {
  const text = typeof fallback === 'string' ? fallback : JSON.stringify(fallback)
  if (fallback === undefined || fallback === null || /^(?:\[\]|\{\})$/.test(text) || /default/.test(description))
    return ''
  return ` By default ${text}.`
}

function flagOf({ schema }: Parameter): Flag {
  const about = schema.description ?? ''
  if (isList(schema)) {
    const item = itemOf(schema)
    if (isReason(item)) return { kind: 'texts', value: 'type: text', about }
    // Short words may be separated by commas; sentences contain commas.
    const short = item.enum !== undefined || ((item.maxLength as number | undefined) ?? 0) <= 256
    return { kind: short ? 'list' : 'texts', value: placeholderOf(item), about }
  }
  if (inner(schema).type === 'boolean' && schema.default !== true) return { kind: 'switch', about }
  return { kind: 'value', value: placeholderOf(schema), about: `${about}${defaultOf(schema)}` }
}

const kebab = (name: string): string => name.replaceAll('_', '-')

/**
 * Flags for the parameters of a method. An object such as `project` may be given as several flags.
 * @param choose flag by parameter name: a text renames it, null leaves it out; other parameters keep their own name
 */
export function parametersOf(schema: ParamsSchema, choose: Record<string, string | null> = {}): Parameters {
  const parameters = new Map<string, Parameter>()
  for (const [name, field] of Object.entries(jsonSchema(schema, 'input').properties ?? {})) {
    const flag = choose[name] === undefined ? kebab(name) : choose[name]
    if (flag !== null) parameters.set(flag, { name, schema: field })
  }
  const readOne = (flag: string, { schema }: Parameter, value: boolean | string | string[]): unknown => {
    const shown = `--${flag}`
    if (typeof value === 'boolean') return value
    if (typeof value === 'string')
      return isList(schema) ? [parsedValue(shown, itemOf(schema), value)] : parsedValue(shown, schema, value)
    const item = itemOf(schema)
    return value.map((one) => (isReason(item) ? reasonOf(shown, one) : parsedValue(shown, item, one)))
  }
  return {
    flags: Object.fromEntries([...parameters].map(([flag, parameter]) => [flag, flagOf(parameter)])),
    read(values) {
      const given = [...parameters].filter(([flag]) => {
        const value = values[flag]
        return value !== undefined && value !== false && !(Array.isArray(value) && value.length === 0)
      })
      return Object.fromEntries(
        given.map(([flag, parameter]) => [parameter.name, readOne(flag, parameter, values[flag]!)]),
      )
    },
  }
}
