/** The tools: one for each method that declares one, in a fixed order, and the mapping of tool calls to method calls. */
import type { CallToolResult, Tool } from '@modelcontextprotocol/server'
import { CstpError, codes, type Issue } from '../../../sdk/errors.ts'
import { type Method, type ParamsSchema, type ResultSchema, toolNames } from '../../calls/method.ts'
import { isTooLong, maxAnswerBytes } from '../../calls/page.ts'
import { type JsonSchema, jsonSchema } from '../../core/json-schema.ts'
import { compileParams } from '../../core/params.ts'
import { visibleJson } from '../../core/quote.ts'
import { methods } from '../../methods/table.ts'

/** Calls a method as the client's agent. @throws CstpError */
export type CallMethod = (method: string, params: unknown, signal: AbortSignal) => Promise<unknown>

interface Entry {
  /** Wire name of the method. */
  method: string
  /** Fields of the input. */
  fields: ReadonlySet<string>
  /** The method's parameters for a tool's input. @throws CstpError `invalid_params` */
  toParams(input: unknown): unknown
  listed: Tool
}

function entryOf(method: string, { mcp, params, result, effect }: Method): Entry {
  const { name, title, description, destructive = false, idempotent = false, input } = mcp!
  const schema = input?.schema ?? params
  const parse = input && compileParams(input.schema)
  const readOnlyHint = effect === 'read'
  return {
    method,
    fields: new Set(Object.keys(schema.entries)),
    toParams: (given) => (input && parse ? input.toParams(parse(given)) : given),
    listed: {
      name,
      title,
      description,
      inputSchema: inputSchema(schema) as Tool['inputSchema'],
      outputSchema: outputSchema(result) as Tool['outputSchema'],
      annotations: {
        title,
        readOnlyHint,
        destructiveHint: !readOnlyHint && destructive,
        idempotentHint: readOnlyHint || idempotent,
        openWorldHint: false,
      },
    },
  }
}

function gather(): ReadonlyMap<string, Entry> {
  const declared = new Map(
    [...methods].flatMap(([name, method]) => (method.mcp ? [[method.mcp.name, { name, method }] as const] : [])),
  )
  return new Map(
    toolNames.flatMap((tool) => {
      const found = declared.get(tool)
      return found ? [[tool, entryOf(found.name, found.method)] as const] : []
    }),
  )
}

// The JSON Schemas are generated for the first client, not at every start.
let entries: ReadonlyMap<string, Entry> | null = null
const table = (): ReadonlyMap<string, Entry> => {
  entries ??= gather()
  return entries
}

export const listTools = (): Tool[] => [...table().values()].map(({ listed }) => listed)
/** Wire name of the method behind a tool. */
export const methodOf = (tool: string): string | undefined => table().get(tool)?.method

/** The result of a call; null if there is no such tool. A refusal is a result as well, so that the model reads it. */
export async function callTool(
  name: string,
  input: unknown,
  call: CallMethod,
  signal: AbortSignal,
): Promise<CallToolResult | null> {
  const entry = table().get(name)
  if (!entry) return null
  try {
    const result = await call(entry.method, entry.toParams(input), signal)
    const structuredContent = result as Record<string, unknown>
    const text = JSON.stringify(result)
    // The result is sent twice: as text and as structured content.
    if (isTooLong([text], maxAnswerBytes / 2))
      throw new CstpError('invalid_request', 'The answer would be too long: ask for less at once')
    return { content: [{ type: 'text', text: visibleJson(text) }], structuredContent }
  } catch (error) {
    const refusal = toolError(error, name, entry.fields)
    return { content: [{ type: 'text', text: visibleJson(JSON.stringify(refusal)) }], isError: true }
  }
}

// JSON Schemas of tools, from the same valibot schemas that validate the calls. Both are shortened, since a model reads them in every session.

/** The schema of a tool's input or output: always that of an object. */
export type ObjectSchema = JsonSchema & { type: 'object' }

/** Longest list that a model needs to know the bound of. */
const longList = 50

/** Bounds and defaults that add nothing. */
const isRedundant = ([key, value]: [string, unknown]): boolean =>
  (key === 'minLength' && (value as number) <= 1) ||
  // A refusal names the field and its bound.
  key === 'maxLength' ||
  (key === 'maxItems' && (value as number) >= longList) ||
  (key === 'required' && Array.isArray(value) && value.length === 0) ||
  (key === 'maximum' && value === Number.MAX_SAFE_INTEGER) ||
  (key === 'default' && (value === null || (typeof value === 'object' && Object.keys(value).length === 0)))

/** Drops what costs a model tokens and tells it nothing: a field that may be omitted need not also accept null. */
function brief(schema: JsonSchema): JsonSchema {
  const { properties, items, anyOf, ...rest } = schema
  const own = Object.fromEntries(Object.entries(rest).filter((entry) => !isRedundant(entry)))
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

const isNullable = ({ anyOf }: JsonSchema): boolean => anyOf?.some(({ type }) => type === 'null') ?? false

/** Only the names of the fields that always have a value: a model reads the result itself, and the reference has its whole schema. */
export function outputSchema(schema: ResultSchema): ObjectSchema {
  const { required = [], properties = {} } = jsonSchema(schema, 'output')
  return { type: 'object', required: required.filter((name) => !isNullable(properties[name] ?? {})) }
}

// A refused call as the text of a tool's result.

export interface ToolError {
  error: 'validation_error' | 'internal_error'
  message: string
  /** The JSON-RPC code that the method's own answer would carry. */
  code: number
  /** Further data: violations, candidates of a prefix, the id of the request. */
  data?: Record<string, unknown>
}

/** `query_decisions` has the input `QueryDecisionsInput`. */
const schemaName = (tool: string): string =>
  `${tool.replace(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase())}Input`

/** The path of a method's field in the tool's flat input. */
function pathIn(names: ReadonlySet<string>, path: string): string {
  const [first = '', ...rest] = path.split('.')
  if (path === '' || names.has(first)) return path
  if (first === 'decision_id' && names.has('id')) return ['id', ...rest].join('.')
  return rest.length > 0 && names.has(rest[0]!) ? rest.join('.') : path
}

/** @param names the fields of the tool's input */
function toolError(thrown: unknown, tool: string, names: ReadonlySet<string>): ToolError {
  const error = thrown instanceof CstpError ? thrown : new CstpError('internal_error', 'Internal error')
  const { code, message, data = {} } = error
  const { issues, id, ...rest } = data as { issues?: Issue[]; id?: string }
  const more = Object.keys(rest).length > 0 ? { data: rest } : {}
  if (code !== codes.invalid_params && code !== codes.decision_not_found)
    return { error: 'internal_error', message, code, ...more }
  const messages = issues?.map((issue) => {
    const path = pathIn(names, issue.path)
    return path === '' ? issue.message : `${path}: ${issue.message}`
  }) ?? [message]
  const count = messages.length === 1 ? '1 validation error' : `${messages.length} validation errors`
  return {
    error: 'validation_error',
    message: `${count} for ${schemaName(tool)}: ${messages.join('; ')}`,
    code,
    ...more,
  }
}
