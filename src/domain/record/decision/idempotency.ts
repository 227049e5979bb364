/** Writes that may be repeated: the same key of the same agent returns the first result. */

import { invalidParams } from '../../../../sdk/errors.ts'
import type { Store, Transaction } from '../../../../sdk/storage/store.ts'
import { jsonSha256 } from '../../../core/digest.ts'
import { dayMs } from '../../../core/time.ts'

/** The stored answer of a call with an idempotency key. */
export interface IdempotentResult {
  /** SHA-256 of the canonical parameters, lowercase hex. */
  digest: string
  /** The result as JSON. */
  result: unknown
}

/** Name of the collection, for moving it to another store. */
export const resultCollection = 'idempotency'
const keyOf = (agent: string, key: string): string => JSON.stringify([agent, key])

/** Most results that one transaction removes. */
const expiredAtOnce = 500

function replay<T extends object>(found: IdempotentResult, digest: string, key: string): Replayable<T> {
  if (found.digest === digest) return { ...(found.result as T), replayed: true }
  const message = 'was used before with other parameters'
  throw invalidParams({
    path: 'idempotency_key',
    message,
    expected: 'a new key, or the same parameters',
    received: key,
  })
}

/** A result, marked if it comes from an earlier call. */
export type Replayable<T> = T & { replayed?: true }

/** The part of a write that runs in its transaction. */
export type Commit<T> = (tx: Transaction) => Promise<T>

/**
 * Runs a write once per key. `prepare` does the work that must not run in a transaction and returns the part that must; result and key are
 * committed together. An `unkept` result writes nothing, and its key stays unused.
 * @param key null runs it without a key
 * @throws CstpError `invalid_params` if the key was used with other parameters
 */
export async function once<T extends object>(
  call: { store: Store; caller: { agent: string }; now(): number },
  key: string | null,
  params: unknown,
  prepare: () => Promise<Commit<T> | { unkept: T }>,
): Promise<Replayable<T>> {
  const { store, caller } = call
  if (key === null) {
    const work = await prepare()
    return typeof work === 'function' ? store.transaction(work) : work.unkept
  }
  const digest = jsonSha256(params)
  const lookUp = async (tx: Transaction): Promise<IdempotentResult | null> => {
    const [found] = await tx.keyed.get(resultCollection, [keyOf(caller.agent, key)])
    return found === undefined || found.expires_ms! <= call.now() ? null : (found.value as IdempotentResult)
  }
  const before = await store.transaction(lookUp)
  if (before) return replay(before, digest, key)
  const work = await prepare()
  if (typeof work !== 'function') return work.unkept
  return store.transaction(async (tx) => {
    const found = await lookUp(tx)
    if (found) return replay(found, digest, key)
    const result = await work(tx)
    const value: IdempotentResult = { digest, result }
    await tx.keyed.put(resultCollection, keyOf(caller.agent, key), value, { expires_ms: call.now() + dayMs })
    return result
  })
}

/** Deletes expired results. Writes don't do this themselves: all of them would wait for the same ones. */
export async function expireResults(store: Pick<Store, 'transaction'>, now_ms: number): Promise<void> {
  for (let gone = expiredAtOnce; gone === expiredAtOnce; )
    gone = (await store.transaction(({ keyed }) => keyed.expire(resultCollection, now_ms, expiredAtOnce))).length
}
