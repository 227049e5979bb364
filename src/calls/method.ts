/** The declaration of a method, from which dispatch, validation, aliases, clients and documents derive. */
import * as v from 'valibot'
import type { Effect } from '../../sdk/client/options.ts'
import type { ErrorName } from '../../sdk/errors.ts'
import type { Caller, Scope } from '../core/caller.ts'
import type { JsonText, Page } from './page.ts'
import type { Call } from './services.ts'

/** Any object schema: methods take their parameters by name. */
export type ParamsSchema = v.ObjectSchema<v.ObjectEntries, undefined>
export type ResultSchema = v.GenericSchema<unknown, unknown>

/** The MCP tools in the order in which clients list them: first the flow of a decision, then the tools to look around. */
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

/** Tool input that differs from the method's parameters, with a pure mapping between them. */
export interface ToolInput<Params> {
  schema: ParamsSchema
  toParams(input: unknown): Params
}

/** Declares the input of a tool; the mapping gets the validated value. */
export const toolInput = <S extends ParamsSchema, Params>(
  schema: S,
  toParams: (input: v.InferOutput<S>) => Params,
): ToolInput<Params> => ({ schema, toParams: toParams as (input: unknown) => Params })

/** A read method's parameters as tool input. Tracking is always on: what a model reads through a tool is part of its deliberation. */
export function trackedInput<E extends v.ObjectEntries>({ entries }: v.ObjectSchema<E, undefined>) {
  const { track: _, ...fields } = entries
  return toolInput(v.object(fields as Omit<E, 'track'>), (input) => input)
}

/** A method as a tool of the MCP surface. */
export interface Tool<Params> {
  name: ToolName
  /** For people: the label that a client shows. */
  title: string
  /** For models: when to call it, and how to use the result. */
  description: string
  /** True if a call replaces an earlier value; never if the effect is `read`. */
  destructive?: boolean
  /** True if repeating the same call changes nothing more. */
  idempotent?: boolean
  /** By default the method's own parameters. */
  input?: ToolInput<Params>
}

/** A `cstp.*` method. Its wire name is `cstp.` and the name of the export. */
export interface Method<P extends ParamsSchema = ParamsSchema, R extends ResultSchema = ResultSchema> {
  /** One sentence: what the method does. */
  summary: string
  params: P
  result: R
  /** What the caller's credentials must allow. The scope `audit` allows every read. */
  scope: Scope
  /** Whether a caller without the scope may make this call all the same. @param params as sent, not validated yet */
  also?(caller: Caller, params: unknown): boolean
  /**
   * What a call changes: clients decide by it whether to retry a lost call, and MCP tools get hints. Audit entries and changed records count;
   * bookkeeping about reads (inputs of the deliberation, a checkpoint signed for a reader) does not.
   */
  effect: Effect
  /** The error that an engine failure is reported as. */
  failure: ErrorName
  /** Cost of a call that asks for few entries; 1, that of reading a decision, by default. See `src/calls/admission.ts`. */
  cost?: number
  /** Maximum size of the parameters, in characters. */
  max_size?: number
  /** True if the method stores texts of its parameters: secrets in them are refused or masked, depending on the settings. */
  keeps_texts?: true
  /** The MCP tool; absent if MCP clients can't call the method. */
  mcp?: Tool<NoInfer<v.InferInput<P>>>
  /**
   * Runs the method with validated parameters. Returns the result, as JSON if it is stored so or generated while it is sent.
   * May throw CstpError for the caller; a StorageError becomes `failure`.
   */
  handle(call: Call, params: v.InferOutput<P>): Promise<v.InferInput<R> | JsonText>
  /** Set if the result is a page of a list; the page ends early, with `shortened`, if the answer would be too long. */
  page?: Page
}

/** For methods that people with `curate` may call without `write`, which a token with `approve` can't have. */
export const byCurators = ({ scopes }: Caller): boolean => scopes.has('curate')

/** Declares a method, with types inferred from the schemas. By default, an engine failure is reported as `internal_error`. */
export const defineMethod = <P extends ParamsSchema, R extends ResultSchema>(
  method: Omit<Method<P, R>, 'failure'> & { failure?: ErrorName },
): Method<P, R> => ({ failure: 'internal_error', ...method })

/** Methods by wire name, in alphabetical order. */
export type MethodTable = ReadonlyMap<string, Method>
