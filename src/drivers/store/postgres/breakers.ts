/** Circuit breakers. */
import type { Breaker, BreakerReader, BreakerWriter } from '../../../../sdk/storage/store.ts'
import type { Client, Query } from '../../shared/postgres/client.ts'
import { toText } from '../../shared/postgres/filter.ts'
import type { Connection, Verb } from './transaction.ts'

async function find(query: Query, scope: string): Promise<Breaker | null> {
  const [row] = await query<{ state: string }>('select state::text as state from breakers where scope = $1', [
    toText(scope),
  ])
  return row === undefined ? null : JSON.parse(row.state)
}

async function all(query: Query): Promise<Breaker[]> {
  const rows = await query<{ state: string }>('select state::text as state from breakers order by scope')
  return rows.map(({ state }) => JSON.parse(state))
}

export const breakerReader = ({ read }: Client): BreakerReader => ({
  get: (scope) => find(read, scope),
  list: () => all(read),
})

export const breakerWriter = ({ query, lock }: Connection, verb: Verb): BreakerWriter => ({
  get: verb(async (scope: string) => {
    await lock('breaker', scope)
    return find(query, scope)
  }),
  list: verb(async () => {
    await lock('breakers', '')
    return all(query)
  }),
  put: verb(async (breaker: Breaker) => {
    await lock('breakers', '', 'shared')
    await lock('breaker', breaker.scope)
    await query(
      `insert into breakers (scope, state) values ($1, $2::text::json)
       on conflict (scope) do update set state = excluded.state`,
      [toText(breaker.scope), JSON.stringify(breaker)],
    )
  }),
})
