/** Results of writes that may be sent again. */
import type { Idempotency, IdempotentResult } from '../../../../sdk/storage/store.ts'
import type { Verb } from '../resident/groups.ts'
import type { Statements } from './statements.ts'

export function idempotency({ prepare }: Statements, now: () => number): (verb: Verb) => Idempotency {
  const get = prepare<{ digest: string; result: string }, [string, string, number]>(
    'select digest, result from idempotency where agent = ? and key = ? and expires_ms > ?',
  )
  const put = prepare<unknown, [string, string, string, string, number]>(
    'insert or replace into idempotency (agent, key, digest, result, expires_ms) values (?, ?, ?, ?, ?)',
  )
  const purge = prepare<unknown, [number]>('delete from idempotency where expires_ms <= ?')
  return (verb) => ({
    get: verb((agent: string, key: string, now_ms: number) => {
      const row = get.get(agent, key, now_ms)
      return row && { digest: row.digest, result: JSON.parse(row.result) }
    }),
    put: verb((agent: string, key: string, { digest, result }: IdempotentResult, expires_ms: number) => {
      purge.run(now())
      put.run(agent, key, digest, JSON.stringify(result ?? null), expires_ms)
    }),
  })
}
