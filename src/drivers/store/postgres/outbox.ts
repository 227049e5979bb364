/** The outbox of decisions whose vectors are still to be made; worked by any server, each entry by one. */
import { randomUUID } from 'node:crypto'
import type { OutboxEntry, OutboxReader, OutboxWriter } from '../../../../sdk/storage/store.ts'
import type { Client } from '../../shared/postgres/client.ts'
import { toText } from '../../shared/postgres/filter.ts'
import type { Connection, Verb } from './transaction.ts'

export const outboxReader = ({ read }: Client): OutboxReader => ({
  async depth() {
    const [row] = await read<{ depth: number }>('select count(*)::int as depth from outbox')
    return row!.depth
  },
})

export const outboxWriter = ({ query }: Connection, verb: Verb): OutboxWriter => ({
  add: verb(async (id: string, now_ms: number) => {
    await query(
      `insert into outbox (id, attempts, due_ms, claim) values ($1, 0, $2::float8, '')
       on conflict (id) do update set attempts = 0, due_ms = excluded.due_ms, claim = '', error = null`,
      [id, now_ms],
    )
  }),
  // What another server has locked it has claimed, or is about to finish with.
  claim: verb((limit: number, lease_ms: number, now_ms: number) =>
    query<OutboxEntry>(
      `with due as (select id, due_ms from outbox where due_ms <= $1::float8 order by due_ms, id limit $2::int
           for update skip locked),
         taken as (update outbox o set attempts = attempts + 1, due_ms = $1::float8 + $3::float8, claim = $4 || '/' || o.id
           from due where o.id = due.id returning o.id, o.attempts - 1 as attempts, o.claim, due.due_ms as due)
       select id, attempts, claim from taken order by due, id`,
      [now_ms, limit, lease_ms, randomUUID()],
    ),
  ),
  finish: verb(async ({ id, claim }: OutboxEntry, retry?: { due_ms: number; error: string }) => {
    if (retry === undefined) await query('delete from outbox where id = $1 and claim = $2', [id, claim])
    else
      await query(`update outbox set due_ms = $3::float8, error = $4, claim = '' where id = $1 and claim = $2`, [
        id,
        claim,
        retry.due_ms,
        toText(retry.error),
      ])
  }),
})
