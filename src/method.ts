/** The one declaration from which a method's dispatch, validation, aliases, clients and documents derive. */
import type * as v from 'valibot'
import type { ErrorName } from '../sdk/errors.ts'
import type { Call } from './context.ts'
import type { Scope } from './surfaces/auth.ts'

/** Any object schema: methods take their parameters by name. */
export type ParamsSchema = v.ObjectSchema<v.ObjectEntries, undefined>
export type ResultSchema = v.GenericSchema<unknown, unknown>

/** A `cstp.*` method. Its wire name is `cstp.` and the name of the export. */
export interface Method<P extends ParamsSchema = ParamsSchema, R extends ResultSchema = ResultSchema> {
  /** One sentence: what the method does. */
  summary: string
  params: P
  result: R
  /** What the caller's credentials must allow. */
  scope: Scope
  /** The error that a failing engine becomes; `internal_error` where the interface names none. */
  failure: ErrorName
  /** Runs the method on valid parameters. May throw CstpError for the caller; a StorageError becomes `failure`. */
  handle(call: Call, params: v.InferOutput<P>): Promise<v.InferInput<R>>
  /**
   * What `handle` resolves with, as JSON, for callers that print it. Only where that text is at hand. A long one comes in pieces, made
   * as they are sent.
   */
  json?(call: Call, params: v.InferOutput<P>): Promise<string | Iterable<string>>
}

/** Declares a method; the identity, with types inferred from the schemas. */
export const defineMethod = <P extends ParamsSchema, R extends ResultSchema>(method: Method<P, R>): Method<P, R> =>
  method
