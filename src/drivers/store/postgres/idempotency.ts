/** Results of writes that may be sent again. */
import type { Idempotency, IdempotentResult } from '../../../../sdk/storage/store.ts'
import { toText } from '../../shared/postgres/filter.ts'
import type { Connection, Verb } from './transaction.ts'

/** Expired keys that one write removes at most. */
const purged = 100

export function idempotency({ query, lock }: Connection, verb: Verb, now: () => number): Idempotency {
  const nameOf = (agent: string, key: string): string => JSON.stringify([agent, key])
  return {
    get: verb(async (agent: string, key: string, now_ms: number) => {
      await lock('idempotency', nameOf(agent, key))
      const [row] = await query<{ digest: string; result: string }>(
        `select digest, result::text as result from idempotency
         where agent = $1 and key = $2 and expires_ms > $3::float8`,
        [toText(agent), toText(key), now_ms],
      )
      return row === undefined ? null : { digest: row.digest, result: JSON.parse(row.result) }
    }),
    put: verb(async (agent: string, key: string, { digest, result }: IdempotentResult, expires_ms: number) => {
      await lock('idempotency', nameOf(agent, key))
      await query(
        `insert into idempotency (agent, key, digest, result, expires_ms) values ($1, $2, $3, $4::text::json, $5::float8)
         on conflict (agent, key) do update set digest = excluded.digest, result = excluded.result,
           expires_ms = excluded.expires_ms`,
        [toText(agent), toText(key), digest, JSON.stringify(result ?? null), expires_ms],
      )
      await query(
        `delete from idempotency where ctid = any(array(
           select ctid from idempotency where expires_ms <= $1::float8 limit ${purged} for update skip locked))`,
        [now()],
      )
    }),
  }
}
