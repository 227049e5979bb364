/** Describes a JSON Schema in words: the type of each field, for readers. */
import { glossary } from '../../sdk/schema/glossary.ts'
import type { JsonSchema } from './json-schema.ts'

/** How values and alternatives are formatted: plain, or as Markdown. */
export interface Style {
  literal(value: string): string
  or: string
}

const plainStyle: Style = { literal: (value) => value, or: ' | ' }

/** A type in words: `string`, `low | medium`, `array of object`, `number 0 to 1`. */
export function typeName(schema: JsonSchema, style: Style = plainStyle): string {
  const { anyOf, items, properties, additionalProperties } = schema
  const [minimum, maximum] = [schema.minimum, schema.maximum] as (number | undefined)[]
  const type = schema.type as string | string[] | undefined
  if (schema.const !== undefined) return JSON.stringify(schema.const)
  if (schema.enum) return schema.enum.map((one) => style.literal(String(one))).join(style.or)
  if (anyOf) return [...new Set(anyOf.map((one) => typeName(one, style)))].join(' or ')
  if (type === 'array') return `array of ${items ? typeName(items, style) : 'anything'}`
  if (type === 'object' && properties) return 'object'
  if (type === 'object' && typeof additionalProperties === 'object')
    return `map to ${typeName(additionalProperties, style)}`
  const bounded = maximum !== undefined && maximum < Number.MAX_SAFE_INTEGER
  const bounds = minimum === undefined ? '' : bounded ? ` ${minimum} to ${maximum}` : ` from ${minimum}`
  return `${Array.isArray(type) ? type.join(' or ') : (type ?? 'anything')}${bounds}`
}

/** The object schema inside a field, through arrays and unions; null if there is none. */
function objectIn(schema: JsonSchema): JsonSchema | null {
  if (schema.properties) return schema
  if (schema.items) return objectIn(schema.items)
  return schema.anyOf?.map(objectIn).find((one) => one !== null) ?? null
}

export interface FieldText {
  /** Such as `project.pr`. */
  path: string
  type: string
  /** `required`, the default as JSON, or nothing. */
  fallback: string
  about: string
}

/** All fields of an object; those of a nested object follow the field that contains it. */
export function fieldTexts(schema: JsonSchema, style: Style = plainStyle, at = ''): FieldText[] {
  return Object.entries(schema.properties ?? {}).flatMap(([name, field]) => {
    const path = at ? `${at}.${name}` : name
    const fallback =
      field.default === undefined || field.default === null ? '' : style.literal(JSON.stringify(field.default))
    const inner = objectIn(field)
    return [
      {
        path,
        type: typeName(field, style),
        fallback: schema.required?.includes(name) ? 'required' : fallback,
        about: field.description ?? glossary[name] ?? '',
      },
      ...(inner ? fieldTexts(inner, style, path) : []),
    ]
  })
}
