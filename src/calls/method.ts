/** The one declaration from which a method's dispatch, validation, aliases, clients and documents derive. */
import * as v from 'valibot'
import type { Effect } from '../../sdk/client/options.ts'
import type { ErrorName } from '../../sdk/errors.ts'
import type { Scope } from '../core/caller.ts'
import type { Page, Pieces } from './page.ts'
import type { Call } from './services.ts'

/** Any object schema: methods take their parameters by name. */
export type ParamsSchema = v.ObjectSchema<v.ObjectEntries, undefined>
export type ResultSchema = v.GenericSchema<unknown, unknown>

/** The tools of the MCP surface, in the order in which a client lists them: the flow of a decision first, then what looks around it. */
export const toolNames = [
  'query_decisions',
  'check_action',
  'log_decision',
  'review_outcome',
  'get_stats',
  'link_decisions',
  'unlink_decisions',
  'get_graph',
  'get_neighbors',
  'pre_action',
  'get_session_context',
  'ready',
  'get_decision',
  'update_decision',
  'record_thought',
  'get_reason_stats',
  'list_guardrails',
  'get_circuit_state',
  'list_breakers',
] as const
export type ToolName = (typeof toolNames)[number]

/** An input of a tool that is not the parameters themselves, and the pure step from one to the other. */
export interface ToolInput<Params> {
  schema: ParamsSchema
  toParams(input: unknown): Params
}

/** Declares the input of a tool; the mapping gets what the schema lets through. */
export const toolInput = <S extends ParamsSchema, Params>(
  schema: S,
  toParams: (input: v.InferOutput<S>) => Params,
): ToolInput<Params> => ({ schema, toParams: toParams as (input: unknown) => Params })

/** The parameters of a read as the input of its tool, which always tracks: what a model reads with a tool is its deliberation. */
export function trackedInput<E extends v.ObjectEntries>({ entries }: v.ObjectSchema<E, undefined>) {
  const { track: _, ...fields } = entries
  return toolInput(v.object(fields as Omit<E, 'track'>), (input) => input)
}

/** A method as a tool of the MCP surface. */
export interface Tool<Params> {
  name: ToolName
  /** For people: what a client shows on a button. */
  title: string
  /** For models: when to call it, and what to do with the answer. */
  description: string
  /** True if a call replaces an earlier value; never of one whose effect is `read`. */
  destructive?: boolean
  /** True if the same call a second time changes nothing more. */
  idempotent?: boolean
  /** The method's own parameters where not given. */
  input?: ToolInput<Params>
}

/** A `cstp.*` method. Its wire name is `cstp.` and the name of the export. */
export interface Method<P extends ParamsSchema = ParamsSchema, R extends ResultSchema = ResultSchema> {
  /** One sentence: what the method does. */
  summary: string
  params: P
  result: R
  /** What the caller's credentials must allow. */
  scope: Scope
  /**
   * What a call leaves behind: the client repeats a lost call by it, and MCP clients are told. A line of the audit trail or a changed
   * record counts; bookkeeping about what was read (inputs of the deliberation, the checkpoint signed for a reader) does not.
   */
  effect: Effect
  /** The error that a failing engine becomes. */
  failure: ErrorName
  /** True if it keeps the texts of its parameters: secrets in them are refused or masked, as the operator sets. */
  keeps_texts?: true
  /** Where MCP clients may call it. */
  mcp?: Tool<NoInfer<v.InferInput<P>>>
  /** Runs the method on valid parameters. May throw CstpError for the caller; a StorageError becomes `failure`. */
  handle(call: Call, params: v.InferOutput<P>): Promise<v.InferInput<R>>
  /**
   * What `handle` resolves with, as JSON in pieces, for callers that print it. Only where that text is at hand. Those of a long one are made
   * as they are sent.
   */
  json?(call: Call, params: v.InferOutput<P>): Promise<Pieces>
  /** If the result is a page of a list: it ends early if the answer would be too long, with `shortened`. */
  page?: Page
}

/** Declares a method; the identity, with types inferred from the schemas. */
export const defineMethod = <P extends ParamsSchema, R extends ResultSchema>(method: Method<P, R>): Method<P, R> =>
  method

/** Methods by wire name, in alphabetical order. */
export type MethodTable = ReadonlyMap<string, Method>
