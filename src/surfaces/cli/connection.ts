/** One way to call methods, whether a server answers or this process does. */
import type * as v from 'valibot'
import type * as declared from '../../methods/index.ts'

type Declared = typeof declared
export type MethodName = keyof Declared
export type Params<K extends MethodName> = v.InferInput<Declared[K]['params']>
export type Result<K extends MethodName> = v.InferOutput<Declared[K]['result']>

/** Calls a method by its wire name. `signal` gives this call up. @throws CstpError where the method refuses, Failure where nothing can be reached */
export type Send = (method: string, params: unknown, signal?: AbortSignal) => Promise<unknown>

export interface Connection {
  /** Calls a method by its name without `cstp.`. */
  call<K extends MethodName>(method: K, params: Params<K>): Promise<Result<K>>
  send: Send
  /** What answers, for messages: an address or a folder. */
  where: string
  close(): Promise<void>
}

export const connect = (send: Send, where: string, close: () => Promise<void> = async () => {}): Connection => ({
  call: (method, params) => send(`cstp.${method}`, params) as never,
  send,
  where,
  close,
})
