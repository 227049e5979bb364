/** Sessions, breakers, audit, outbox and idempotency of the memory store, inside a transaction. */

import { compareText } from '../../../sdk/storage/fields.ts'
import type {
  AuditEntry,
  Breaker,
  IdempotentResult,
  Login,
  OutboxEntry,
  SessionInput,
  Transaction,
} from '../../../sdk/storage/store.ts'
import type { Verb } from '../../../src/drivers/store/resident/groups.ts'
import { count, type Layers } from './state.ts'

/** Consumed sessions that are remembered. */
export const consumedKept = 1_000

/** What JSON keeps of a value; undefined becomes null. */
export const plain = <T>(value: T): T => JSON.parse(JSON.stringify(value) ?? 'null')

export function sessionWriter(layers: Layers, verb: Verb): Transaction['sessions'] {
  return {
    get: verb((key: string) => plain(layers.sessions.get(key) ?? null)),
    append: verb((key: string, agent: string, inputs: readonly SessionInput[], keep: number, now_ms: number) => {
      const session = layers.sessions.get(key) ?? {
        key,
        agent,
        inputs: [],
        dropped: 0,
        created_ms: now_ms,
        updated_ms: 0,
      }
      const all = [...session.inputs, ...inputs.map((input) => plain({ ...input, data: input.data ?? null }))]
      const over = Math.max(0, all.length - keep)
      const dropped = session.dropped + over
      layers.sessions.set(key, { ...session, inputs: all.slice(over), dropped, updated_ms: now_ms })
    }),
    consume: verb((key: string, decision_id: string, now_ms: number) => {
      const session = layers.sessions.get(key)
      if (session === undefined) return null
      layers.sessions.delete(key)
      const number = count(layers, 'consumed')
      const { agent, inputs } = session
      layers.consumed.set(number, { key, agent, decision_id, input_count: inputs.length, consumed_ms: now_ms })
      layers.consumed.delete(number - consumedKept)
      return plain(session)
    }),
    expire: verb((before_ms: number) => {
      const old = [...layers.sessions.entries()].filter(([, { updated_ms }]) => updated_ms < before_ms)
      for (const [key] of old) layers.sessions.delete(key)
      return old.length
    }),
  }
}

export function breakerWriter(layers: Layers, verb: Verb): Transaction['breakers'] {
  return {
    get: verb((scope: string) => plain(layers.breakers.get(scope) ?? null)),
    list: verb(() => breakersOf(layers.breakers.entries())),
    put: verb((breaker: Breaker) => layers.breakers.set(breaker.scope, plain(breaker))),
  }
}

export function loginWriter(layers: Layers, verb: Verb): Transaction['logins'] {
  return {
    get: verb((id_hash: string) => plain(layers.logins.get(id_hash) ?? null)),
    put: verb((login: Login) => layers.logins.set(login.id_hash, plain(login))),
    delete: verb((id_hash: string) => layers.logins.delete(id_hash)),
    expire: verb((now_ms: number, unused_ms: number) => {
      const old = [...layers.logins.entries()].filter(
        ([, login]) => login.expires_ms <= now_ms || login.used_ms < unused_ms,
      )
      for (const [id_hash] of old) layers.logins.delete(id_hash)
      return old.length
    }),
  }
}

export const breakersOf = (entries: Iterable<[string, Breaker]>): Breaker[] =>
  [...entries].map(([, breaker]) => plain(breaker)).sort((a, b) => compareText(a.scope, b.scope))

export function auditWriter(layers: Layers, verb: Verb): Transaction['audit'] {
  return {
    append: verb((entry: AuditEntry) => {
      const seq = count(layers, 'audit')
      layers.audit.set(seq, plain({ ...entry, detail: entry.detail ?? null, seq }))
    }),
  }
}

export function outboxWriter(layers: Layers, verb: Verb): Transaction['outbox'] {
  const held = ({ id, claim }: OutboxEntry) => {
    const row = layers.outbox.get(id)
    return row?.claim === claim ? row : undefined
  }
  return {
    add: verb((id: string, now_ms: number) => layers.outbox.set(id, { attempts: 0, due_ms: now_ms, claim: '' })),
    claim: verb((limit: number, lease_ms: number, now_ms: number) => {
      const due = [...layers.outbox.entries()].filter(([, { due_ms }]) => due_ms <= now_ms)
      due.sort(([a, x], [b, y]) => x.due_ms - y.due_ms || compareText(a, b))
      return due.slice(0, limit).map(([id, row]) => {
        const claim = String(count(layers, 'claim'))
        layers.outbox.set(id, { attempts: row.attempts + 1, due_ms: now_ms + lease_ms, claim })
        return { id, attempts: row.attempts, claim }
      })
    }),
    done: verb((entry: OutboxEntry) => {
      if (held(entry) !== undefined) layers.outbox.delete(entry.id)
    }),
    retry: verb((entry: OutboxEntry, next_ms: number, _error: string) => {
      const row = held(entry)
      if (row !== undefined) layers.outbox.set(entry.id, { ...row, due_ms: next_ms, claim: '' })
    }),
  }
}

export function idempotency(layers: Layers, verb: Verb, now: () => number): Transaction['idempotency'] {
  const keyOf = (agent: string, key: string) => JSON.stringify([agent, key])
  return {
    get: verb((agent: string, key: string, now_ms: number) => {
      const row = layers.idempotency.get(keyOf(agent, key))
      return row === undefined || row.expires_ms <= now_ms ? null : plain({ digest: row.digest, result: row.result })
    }),
    put: verb((agent: string, key: string, { digest, result }: IdempotentResult, expires_ms: number) => {
      const time = now()
      for (const [old, row] of [...layers.idempotency.entries()])
        if (row.expires_ms <= time) layers.idempotency.delete(old)
      layers.idempotency.set(keyOf(agent, key), plain({ digest, result: result ?? null, expires_ms }))
    }),
  }
}
