/** The generated types are those of the schemas: the compiler proves it, for every method and both ways. */
import { expect, test } from 'bun:test'
import type * as v from 'valibot'
import { methods as table } from '../../sdk/client.gen.ts'
import type { MethodName, ParamsOf, ResultOf } from '../../sdk/client.ts'
import type * as declared from '../../src/methods/index.ts'
import { methods } from '../../src/methods/table.ts'

type Declared = typeof declared
type Same<A, B> = [A] extends [B] ? ([B] extends [A] ? true : false) : false

/** Names of methods whose types differ; `never` where all agree. */
type Unlike = {
  [N in MethodName]: Same<ParamsOf<N>, v.InferInput<Declared[N]['params']>> extends true
    ? Same<ResultOf<N>, v.InferOutput<Declared[N]['result']>> extends true
      ? never
      : `${N} result`
    : `${N} params`
}[MethodName]

const unlike: Same<Unlike, never> = true

test('every method has a function, and its types are those of its schemas', () => {
  expect(unlike).toBe(true)
  expect(Object.keys(table)).toEqual([...methods.keys()].map((name) => name.replace('cstp.', '')))
})

test('a call is repeated by the effect of its method; one that takes a key is keyed', () => {
  for (const [name, { effect, params }] of methods) {
    expect([name, table[name.replace('cstp.', '') as MethodName]]).toEqual([name, effect])
    expect([name, effect === 'keyed']).toEqual([name, 'idempotency_key' in params.entries])
  }
})
