/** Converts Valibot schemas to JSON Schema (draft 7), with descriptions for known fields and names for recurring shapes. */
import { toJsonSchema } from '@valibot/to-json-schema'
import type * as v from 'valibot'
import * as shapes from '../../sdk/schema/index.ts'

/** The part of JSON Schema that is used. */
export interface JsonSchema {
  $ref?: string
  type?: string
  enum?: (string | number)[]
  const?: unknown
  anyOf?: JsonSchema[]
  items?: JsonSchema
  properties?: Record<string, JsonSchema>
  required?: string[]
  additionalProperties?: boolean | JsonSchema
  default?: unknown
  description?: string
  [keyword: string]: unknown
}

/** `input`: what a caller may send. `output`: what the service returns. */
export type Mode = 'input' | 'output'

/** A schema with its direct subschemas replaced. */
function mapParts(schema: JsonSchema, change: (part: JsonSchema, name?: string) => JsonSchema): JsonSchema {
  const { anyOf, items, properties, additionalProperties } = schema
  return {
    ...schema,
    ...(anyOf && { anyOf: anyOf.map((part) => change(part)) }),
    ...(items && { items: change(items) }),
    ...(properties && {
      properties: Object.fromEntries(Object.entries(properties).map(([name, part]) => [name, change(part, name)])),
    }),
    ...(typeof additionalProperties === 'object' && { additionalProperties: change(additionalProperties) }),
  }
}

/** Removes internal keywords, and adds descriptions of fields. */
const finish =
  (mode: Mode) =>
  (schema: JsonSchema, name?: string): JsonSchema => {
    const { $schema, identifier, propertyNames, default: fallback, ...known } = schema
    const description = known.description ?? (name === undefined ? undefined : shapes.glossary[name])
    return {
      ...mapParts(known, finish(mode)),
      ...(mode === 'input' && fallback !== undefined && { default: fallback }),
      ...(description !== undefined && { description }),
    }
  }

interface ObjectShape {
  type: string
  entries: Record<string, { default?: unknown }>
}

/** Loose objects and results may have further fields; other parameters may not. */
export function jsonSchema(schema: v.GenericSchema<unknown, unknown>, mode: Mode): JsonSchema {
  const found = toJsonSchema(schema as never, {
    errorMode: 'ignore',
    typeMode: mode,
    overrideSchema: ({ valibotSchema, jsonSchema: converted }) => {
      const { type, entries } = valibotSchema as unknown as ObjectShape
      if (!/^(?:loose_|strict_)?object$/.test(type)) return undefined
      const open = type === 'loose_object' ? {} : mode === 'output' && type === 'object' ? undefined : false
      const { required = [] } = converted
      // After parsing, a field with a default is always present.
      const filled = (name: string) => mode === 'output' && entries[name]!.default !== undefined
      return {
        ...converted,
        required: Object.keys(entries).filter((name) => required.includes(name) || filled(name)),
        ...(open !== undefined && { additionalProperties: open }),
      }
    },
  })
  return finish(mode)(found as JsonSchema)
}

const nameable = (schema: JsonSchema): boolean => schema.properties !== undefined || schema.enum !== undefined

/** Identifies a shape: everything but its description and default here, and whether callers may add fields. */
const signature = ({ description, default: _, ...shape }: JsonSchema): string =>
  JSON.stringify(shape).replaceAll(',"additionalProperties":false', '')

export type NameOf = (schema: JsonSchema) => string | null

function nameShapes(): NameOf {
  const names = new Map<string, string>()
  const schemas = Object.entries(shapes)
    .filter((pair): pair is [string, never] => /^[A-Z]/.test(pair[0]) && 'kind' in (pair[1] as object))
    .sort(([a], [b]) => (a < b ? -1 : 1))
  for (const mode of ['output', 'input'] as const)
    for (const [name, schema] of schemas) {
      // Only callers send parameters.
      if (mode === 'output' && name.endsWith('Params')) continue
      const found = jsonSchema(schema, mode)
      const as = signature(found)
      if (!nameable(found) || names.has(as)) continue
      // If the name is taken by the output form, this is the input form.
      const taken = new Set(names.values())
      const own = taken.has(name) ? `${name}Input` : name
      if (taken.has(own)) throw new Error(`two shapes would have the name ${own}`)
      names.set(as, own)
    }
  return (schema) => (nameable(schema) ? (names.get(signature(schema)) ?? null) : null)
}

let named: NameOf | null = null
/** Name of a schema that is exported by `sdk/schema`; null for others. */
export const nameOf: NameOf = (schema) => {
  named ??= nameShapes()
  return named(schema)
}

/** Replaces named shapes by references to `at`, and collects them in `found`. */
export function withReferences(schema: JsonSchema, at: string, found: Map<string, JsonSchema>): JsonSchema {
  const name = nameOf(schema)
  if (name === null) return mapParts(schema, (part) => withReferences(part, at, found))
  if (!found.has(name)) {
    // Reserved now, so that the order is that of first use.
    found.set(name, {})
    const { default: _, ...shape } = schema
    found.set(
      name,
      mapParts(shape, (part) => withReferences(part, at, found)),
    )
  }
  const { description, default: fallback } = schema
  return {
    $ref: `${at}${name}`,
    ...(description !== undefined && { description }),
    ...(fallback !== undefined && { default: fallback }),
  }
}
