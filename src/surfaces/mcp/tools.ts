/** The tools: every method that declares one, in their fixed order, and how a call of one becomes a call of the method. */
import type { CallToolResult, Tool } from '@modelcontextprotocol/server'
import { type Method, toolNames } from '../../method.ts'
import { compileParams } from '../../params.ts'
import { methods } from '../../registry.ts'
import { toolError } from './errors.ts'
import { inputSchema, outputSchema } from './schema.ts'

/** Calls a method as the client's agent. @throws CstpError */
export type CallMethod = (method: string, params: unknown, signal: AbortSignal) => Promise<unknown>

interface Entry {
  /** Wire name of the method. */
  method: string
  /** Fields of the input. */
  fields: ReadonlySet<string>
  /** What is sent to the method. @throws CstpError `invalid_params` */
  toParams(input: unknown): unknown
  listed: Tool
}

function entryOf(method: string, { mcp, params, result, scope }: Method): Entry {
  const { name, title, description, destructive = false, idempotent = false, input } = mcp!
  const schema = input?.schema ?? params
  const parse = input && compileParams(input.schema)
  const readOnlyHint = scope === 'read'
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

// The JSON Schemas are made when the first client comes, not at every start.
let entries: ReadonlyMap<string, Entry> | null = null
const table = (): ReadonlyMap<string, Entry> => {
  entries ??= gather()
  return entries
}

export const listTools = (): Tool[] => [...table().values()].map(({ listed }) => listed)
/** Wire name of the method behind a tool. */
export const methodOf = (tool: string): string | undefined => table().get(tool)?.method

/** The result of a call, or null where there is no such tool. A refusal is a result as well: the model is to read it. */
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
    return { content: [{ type: 'text', text: JSON.stringify(result) }], structuredContent }
  } catch (error) {
    const told = toolError(error, name, entry.fields)
    return { content: [{ type: 'text', text: JSON.stringify(told) }], isError: true }
  }
}
