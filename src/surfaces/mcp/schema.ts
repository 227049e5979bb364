/** JSON Schemas of tools, from the same valibot schemas that check the calls; those of inputs in few words, as a model reads them. */
import { type JsonSchema, jsonSchema } from '../../json-schema.ts'
import type { ParamsSchema, ResultSchema } from '../../method.ts'

/** The schema of a tool's input or output: always that of an object. */
export type ObjectSchema = JsonSchema & { type: 'object' }

/** Bounds and defaults that say nothing. */
const vain = ([key, value]: [string, unknown]): boolean =>
  (key === 'minLength' && value === 0) ||
  (key === 'maximum' && value === Number.MAX_SAFE_INTEGER) ||
  (key === 'default' && (value === null || (typeof value === 'object' && Object.keys(value).length === 0)))

/** Without what a model pays for and learns nothing from: a field that may be left out need not be offered as null too. */
function brief(schema: JsonSchema): JsonSchema {
  const { properties, items, anyOf, ...rest } = schema
  const own = Object.fromEntries(Object.entries(rest).filter((entry) => !vain(entry)))
  const some = anyOf?.filter(({ type }) => type !== 'null').map(brief) ?? []
  return {
    ...(some.length === 1 ? some[0] : {}),
    ...own,
    ...(some.length > 1 && { anyOf: some }),
    ...(items && { items: brief(items) }),
    ...(properties && {
      properties: Object.fromEntries(Object.entries(properties).map(([name, field]) => [name, brief(field)])),
    }),
  }
}

export const inputSchema = (schema: ParamsSchema): ObjectSchema => brief(jsonSchema(schema, 'input')) as ObjectSchema
export const outputSchema = (schema: ResultSchema): ObjectSchema => jsonSchema(schema, 'output') as ObjectSchema
