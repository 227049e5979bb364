/** The service as an OpenRPC document: every method with its parameters, result and errors as JSON Schema. */
import { codes, type ErrorName, meanings } from '../sdk/errors.ts'
import { type JsonSchema, jsonSchema, withReferences } from './json-schema.ts'
import type { Method } from './method.ts'
import { examples } from './openrpc/examples.ts'
import { version } from './version.ts'

interface Field {
  name: string
  required: boolean
  description?: string
  schema: JsonSchema
}

/** A JSON document of the OpenRPC specification. */
export type OpenRpc = Record<string, unknown>

/** What any method can answer, whatever it does. */
const common: ErrorName[] = ['invalid_params', 'forbidden', 'rate_limited', 'internal_error']

const takesId = ({ params }: Method): boolean =>
  Object.keys(params.entries).some((name) => /^(?:id|decision_id|source_id|target_id)$/.test(name))

const errorsOf = (method: Method): { $ref: string }[] =>
  [...new Set([...common, method.failure, ...(takesId(method) ? (['decision_not_found'] as const) : [])])].map(
    (name) => ({ $ref: `#/components/errors/${name}` }),
  )

function example(name: string, fields: Field[]): { examples: unknown[] } | null {
  const one = examples[name]
  if (!one) return null
  const given = fields.filter((field) => Object.hasOwn(one.params, field.name))
  return {
    examples: [
      {
        name: one.name,
        params: given.map((field) => ({ name: field.name, value: one.params[field.name] })),
        result: { name: 'result', value: one.result },
      },
    ],
  }
}

/** The document for these methods. It lists none that begins with `rpc.`, as OpenRPC asks. */
export function openRpc(methods: ReadonlyMap<string, Method>): OpenRpc {
  const shapes = new Map<string, JsonSchema>()
  const refer = (schema: JsonSchema): JsonSchema => withReferences(schema, '#/components/schemas/', shapes)
  const described = [...methods].map(([name, method]) => {
    const { properties = {}, required = [] } = jsonSchema(method.params, 'input')
    const fields = Object.entries(properties).map(
      ([field, schema]): Field => ({
        name: field,
        required: required.includes(field),
        ...(schema.description !== undefined && { description: schema.description }),
        schema: refer(schema),
      }),
    )
    return {
      name,
      summary: method.summary,
      tags: [{ name: `scope ${method.scope}` }],
      paramStructure: 'by-name',
      params: fields,
      result: { name: 'result', schema: refer(jsonSchema(method.result, 'output')) },
      errors: errorsOf(method),
      ...example(name.slice('cstp.'.length), fields),
      'x-scope': method.scope,
    }
  })
  const errors = (Object.keys(codes) as ErrorName[]).map((name) => [
    name,
    { code: codes[name], message: meanings[name] },
  ])
  return {
    openrpc: '1.3.2',
    info: {
      title: 'cstp',
      version,
      description:
        'Decision memory and conscience for software agents. JSON-RPC 2.0 at POST /cstp with `Authorization: Bearer <agent>:<token>`. Parameters are accepted in camelCase as well; unknown ones are refused.',
      license: { name: 'Apache-2.0', url: 'https://www.apache.org/licenses/LICENSE-2.0' },
    },
    servers: [
      { name: 'local', url: 'http://127.0.0.1:9991/cstp', description: 'Where the service listens by default.' },
    ],
    methods: described,
    components: {
      schemas: Object.fromEntries([...shapes].sort(([a], [b]) => (a < b ? -1 : 1))),
      errors: Object.fromEntries(errors),
    },
  }
}
