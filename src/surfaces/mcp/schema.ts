/** JSON Schemas of tools, from the same valibot schemas that check the calls. */
import { toJsonSchema } from '@valibot/to-json-schema'
import { glossary } from '../../../sdk/schema/glossary.ts'
import type { ParamsSchema, ResultSchema } from '../../method.ts'

export interface JsonSchema {
  type?: string
  description?: string
  default?: unknown
  properties?: Record<string, JsonSchema>
  items?: JsonSchema
  anyOf?: JsonSchema[]
  additionalProperties?: boolean | JsonSchema
  required?: string[]
  [key: string]: unknown
}
/** The schema of a tool's input or output: always that of an object. */
export type ObjectSchema = JsonSchema & { type: 'object' }

/** Keys that say nothing to a client. */
const dropped = new Set(['$schema', 'identifier'])

/** Bounds that bound nothing: a model pays for each word of a schema. */
const vain = (key: string, value: unknown): boolean =>
  (key === 'minLength' && value === 0) || (key === 'maximum' && value === Number.MAX_SAFE_INTEGER)

/** A value that may be left out need not be offered as null too. */
function withoutNull(schema: JsonSchema): JsonSchema {
  const { anyOf, default: fallback, ...rest } = schema
  const some = anyOf?.filter(({ type }) => type !== 'null')
  const empty = fallback === null || (typeof fallback === 'object' && Object.keys(fallback).length === 0)
  const kept = fallback === undefined || empty ? {} : { default: fallback }
  if (some?.length === 1) return { ...some[0], ...rest, ...kept }
  return { ...rest, ...(some && { anyOf: some }), ...kept }
}

/** @param named what a field of an input is called, for the words of the glossary */
function shown(schema: JsonSchema, input: boolean, named?: string): JsonSchema {
  const { properties, items, anyOf, ...rest } = input ? withoutNull(schema) : schema
  const own = Object.fromEntries(Object.entries(rest).filter(([key, value]) => !dropped.has(key) && !vain(key, value)))
  const description = rest.description ?? (input && named !== undefined ? glossary[named] : undefined)
  return {
    ...own,
    ...(description !== undefined && { description }),
    ...(items && { items: shown(items, input) }),
    ...(anyOf && { anyOf: anyOf.map((one) => shown(one, input)) }),
    ...(properties && {
      properties: Object.fromEntries(
        Object.entries(properties).map(([name, field]) => [name, shown(field, input, name)]),
      ),
      // Unknown keys of an input are refused: say so, except where an object is open.
      ...(input && rest.additionalProperties === undefined && { additionalProperties: false }),
    }),
  }
}

const convert = (schema: ParamsSchema | ResultSchema, input: boolean): ObjectSchema =>
  shown(
    toJsonSchema(schema as never, {
      errorMode: 'ignore',
      typeMode: 'input',
      target: 'draft-2020-12',
    }) as unknown as JsonSchema,
    input,
  ) as ObjectSchema

export const inputSchema = (schema: ParamsSchema): ObjectSchema => convert(schema, true)
/** What a result may hold; fields with a default may be missing, as in the schema that checks it. */
export const outputSchema = (schema: ResultSchema): ObjectSchema => convert(schema, false)
