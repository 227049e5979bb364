/** The service as an OpenRPC document: every method with its parameters, result and errors as JSON Schema. */

import { codes, type ErrorName, meanings } from '../../sdk/errors.ts'
import { ApprovalId } from '../../sdk/schema/approval.ts'
import { type JsonSchema, jsonSchema, withReferences } from '../core/json-schema.ts'
import { version } from '../core/version.ts'
import type { Method } from './method.ts'

interface Field {
  name: string
  required: boolean
  description?: string
  schema: JsonSchema
}

/** A JSON document of the OpenRPC specification. */
export type OpenRpc = Record<string, unknown>

/** Errors that any method can return. */
const common: ErrorName[] = ['invalid_params', 'forbidden', 'rate_limited', 'internal_error']

const takesId = ({ params }: Method): boolean =>
  Object.entries(params.entries).some(
    ([name, schema]) => /^(?:id|decision_id|source_id|target_id)$/.test(name) && schema !== ApprovalId,
  )

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

/** The document for these methods. It leaves out names that begin with `rpc.`, as OpenRPC requires. */
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
      'x-effect': method.effect,
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
        'Decision memory and policy service for software agents. JSON-RPC 2.0 at POST /cstp with `Authorization: Bearer <agent>:<token>`. Parameters are also accepted in camelCase; unknown parameters are rejected.',
      license: { name: 'Apache-2.0', url: 'https://www.apache.org/licenses/LICENSE-2.0' },
    },
    servers: [{ name: 'local', url: 'http://127.0.0.1:9991/cstp', description: 'Default address of the service.' }],
    methods: described,
    components: {
      schemas: Object.fromEntries([...shapes].sort(([a], [b]) => (a < b ? -1 : 1))),
      errors: Object.fromEntries(errors),
    },
  }
}

// One example call for each step of the usual flow: look for precedents, ask, record, review.

export interface Example {
  name: string
  params: Record<string, unknown>
  result: unknown
}

const id = '2026-07-01-decision-1f0c52aa93be'

/** By method name without `cstp.`. */
export const examples: Readonly<Record<string, Example>> = {
  queryDecisions: {
    name: 'Precedents by meaning and by keyword',
    params: { query: 'Which database for the catalogue?', limit: 1, retrieval_mode: 'hybrid' },
    result: {
      decisions: [
        {
          id,
          title: 'Use SQLite for the catalogue',
          category: 'architecture',
          confidence: 0.8,
          stakes: 'medium',
          status: 'pending',
          outcome: null,
          date: '2026-07-01',
          distance: 0.3127,
          recorded_by: 'coder',
          reviewed_by: null,
          settled_by: null,
          actual_result: null,
          lessons: null,
          instruction_like: false,
          superseded_by: null,
        },
      ],
      total: 1,
      query: 'Which database for the catalogue?',
      query_time_ms: 4,
      agent: 'coder',
      retrieval_mode: 'hybrid',
      scores: { [id]: { semantic: 0.6873, keyword: 0.408, combined: 0.6035 } },
      precedent: 'found',
      no_precedent: false,
      precedents: 1,
      corrections: [],
      degraded: false,
      index: { complete: true, indexed: 26, total: 26 },
    },
  },
  checkGuardrails: {
    name: 'Check guardrails',
    params: {
      action: { description: 'Delete the staging tables', category: 'deployment', stakes: 'low', confidence: 0.9 },
    },
    result: {
      allowed: true,
      verdict: 'allow',
      record_id: '2026-07-01-evaluation-26a1b689b1f04c7d2aa',
      approval: null,
      modified_action: null,
      changes: [],
      satisfied_by: [],
      skipped_for_scope: [],
      violations: [],
      warnings: [],
      evaluated: 5,
      evaluated_at: '2026-07-01T12:00:00.000Z',
      agent: 'coder',
      policy_hash: '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
    },
  },
  recordDecision: {
    name: 'Record with a reason',
    params: {
      decision: 'Use SQLite for the catalogue',
      confidence: 0.8,
      category: 'architecture',
      reasons: [{ type: 'constraint', text: 'One machine, no server to run' }],
      tags: ['database'],
      idempotency_key: '5d9f0a52-6f0e-4b29-9d3f-1f6f6e3f3c11',
    },
    result: {
      success: true,
      decision_id: id,
      record_id: `${id}@1`,
      path: `decisions/2026/07/${id}.yaml`,
      indexed: true,
      existing: false,
      guardrails_checked: true,
      guardrail_warnings: [],
      bridge_auto: true,
      deliberation_auto: false,
      deliberation_inputs_count: 0,
      related_count: 0,
      quality: { score: 0.35, suggestions: ['name the pattern behind it'] },
      message: `Recorded as ${id}`,
    },
  },
  reviewDecision: {
    name: 'Review outcome',
    params: { decision_id: id, outcome: 'success', actual_result: 'One process, no outage in a month' },
    result: {
      success: true,
      decision_id: id,
      record_id: `${id}@2`,
      path: `decisions/2026/07/${id}.yaml`,
      status: 'reviewed',
      outcome: 'success',
      counts: true,
      settled_by: 'others',
      reviewed_at: '2026-07-08T09:30:00.000Z',
      indexed: true,
    },
  },
}
