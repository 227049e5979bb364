/** Logins of the dashboard. There are few, so that one lock serves for all. */
import type { Login, LoginReader, LoginWriter } from '../../../../sdk/storage/store.ts'
import type { Client, Query } from '../../shared/postgres/client.ts'
import { toText } from '../../shared/postgres/filter.ts'
import type { Connection, Verb } from './transaction.ts'

async function find(query: Query, id_hash: string): Promise<Login | null> {
  const [row] = await query<Login>('select id_hash, agent, seal, used_ms, expires_ms from logins where id_hash = $1', [
    toText(id_hash),
  ])
  return row === undefined ? null : { ...row, used_ms: Number(row.used_ms), expires_ms: Number(row.expires_ms) }
}

export const loginReader = ({ read }: Client): LoginReader => ({ get: (id_hash) => find(read, id_hash) })

export const loginWriter = ({ query, lock }: Connection, verb: Verb): LoginWriter => ({
  get: verb(async (id_hash: string) => {
    await lock('logins', '')
    return find(query, id_hash)
  }),
  put: verb(async ({ id_hash, agent, seal, used_ms, expires_ms }: Login) => {
    await lock('logins', '')
    await query(
      `insert into logins (id_hash, agent, seal, used_ms, expires_ms) values ($1, $2, $3, $4::float8, $5::float8)
       on conflict (id_hash) do update set agent = excluded.agent, seal = excluded.seal, used_ms = excluded.used_ms,
         expires_ms = excluded.expires_ms`,
      [toText(id_hash), toText(agent), seal, used_ms, expires_ms],
    )
  }),
  delete: verb(async (id_hash: string) => {
    await lock('logins', '')
    await query('delete from logins where id_hash = $1', [toText(id_hash)])
  }),
  expire: verb(async (now_ms: number, unused_ms: number) => {
    await lock('logins', '')
    const gone = await query<{ id_hash: string }>(
      'delete from logins where expires_ms <= $1::float8 or used_ms < $2::float8 returning id_hash',
      [now_ms, unused_ms],
    )
    return gone.length
  }),
})
