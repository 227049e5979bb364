/** Deliberation sessions: what an agent left behind until a decision takes it. */
import type {
  ConsumedSession,
  Session,
  SessionInput,
  SessionReader,
  SessionWriter,
} from '../../../../sdk/storage/store.ts'
import type { Client, Query } from '../../shared/postgres/client.ts'
import { fromText, toText } from '../../shared/postgres/filter.ts'
import type { Connection, Verb } from './transaction.ts'

/** Consumed sessions that are remembered. */
const consumedKept = 1_000

type Row = Omit<Session, 'inputs'> & { inputs: string[] }

const sessionSql = `select s.key, s.agent, s.dropped, s.created_ms, s.updated_ms,
  array(select i.input::text from session_inputs i where i.key = s.key order by i.number) as inputs from sessions s`

const sessionOf = (row: Row): Session => ({
  key: fromText(row.key),
  agent: fromText(row.agent),
  inputs: row.inputs.map((input) => JSON.parse(input)),
  dropped: row.dropped,
  created_ms: row.created_ms,
  updated_ms: row.updated_ms,
})

async function find(query: Query, key: string): Promise<Session | null> {
  const [row] = await query<Row>(`${sessionSql} where s.key = $1`, [toText(key)])
  return row === undefined ? null : sessionOf(row)
}

export const sessionReader = ({ read }: Client): SessionReader => ({
  get: (key) => find(read, key),
  async list({ agent, since_ms, limit }) {
    const rows = await read<Row>(
      `${sessionSql} where s.updated_ms >= $1::float8 and ($2::text is null or s.agent = $2)
       order by s.updated_ms desc, s.key limit $3::int`,
      [since_ms, toText(agent ?? null), limit],
    )
    return rows.map(sessionOf)
  },
  async consumed({ agent, limit }) {
    const rows = await read<ConsumedSession>(
      `select key, agent, decision_id, input_count, consumed_ms from consumed_sessions
       where $1::text is null or agent = $1 order by number desc limit $2::int`,
      [toText(agent ?? null), limit],
    )
    return rows.map((row) => ({ ...row, key: fromText(row.key), agent: fromText(row.agent) }))
  },
})

export function sessionWriter({ query, lock }: Connection, verb: Verb): SessionWriter {
  const locked = async (key: string) => {
    await lock('session', key)
    return find(query, key)
  }
  return {
    get: verb(locked),
    append: verb(
      async (given: string, agent: string, inputs: readonly SessionInput[], keep: number, now_ms: number) => {
        await lock('session', given)
        const key = toText(given)
        await query(
          `insert into sessions (key, agent, dropped, created_ms, updated_ms) values ($1, $2, 0, $3::float8, $3::float8)
         on conflict (key) do update set updated_ms = excluded.updated_ms`,
          [key, toText(agent), now_ms],
        )
        // Busy readers leave thousands at once: those that would be trimmed again are not written first.
        const late = inputs.slice(-keep)
        await query(
          `insert into session_inputs (key, input)
         select $1, t::json from unnest($2::text[]) with ordinality as given (t, n) order by n`,
          [key, late.map((input) => JSON.stringify({ ...input, data: input.data ?? null }))],
        )
        await query(
          `with trimmed as (delete from session_inputs where key = $1 and number <=
           (select number from session_inputs where key = $1 order by number desc limit 1 offset $2::int) returning 1)
         update sessions set dropped = dropped + $3::int + (select count(*) from trimmed) where key = $1`,
          [key, keep, inputs.length - late.length],
        )
      },
    ),
    consume: verb(async (key: string, decision_id: string, now_ms: number) => {
      const session = await locked(key)
      if (session === null) return null
      await query('delete from sessions where key = $1', [toText(key)])
      await query('delete from session_inputs where key = $1', [toText(key)])
      await query(
        `with added as (insert into consumed_sessions (key, agent, decision_id, input_count, consumed_ms)
           values ($1, $2, $3, $4::int, $5::float8) returning number)
         delete from consumed_sessions where number <= (select number from added) - ${consumedKept}`,
        [toText(key), toText(session.agent), toText(decision_id), session.inputs.length, now_ms],
      )
      return session
    }),
    expire: verb(async (before_ms: number) => {
      const [row] = await query<{ ended: number }>(
        `with ended as (delete from sessions where updated_ms < $1::float8 returning key),
           inputs as (delete from session_inputs where key in (select key from ended))
         select count(*)::int as ended from ended`,
        [before_ms],
      )
      return row!.ended
    }),
  }
}
