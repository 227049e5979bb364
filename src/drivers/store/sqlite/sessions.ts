/** Deliberation sessions: what an agent left behind until a decision takes it. */
import { and, desc, eq, gte } from 'drizzle-orm'
import type { BunSQLiteDatabase } from 'drizzle-orm/bun-sqlite'
import type { Session, SessionInput, SessionReader, SessionWriter } from '../../../../sdk/storage/store.ts'
import type { Verb } from '../resident/groups.ts'
import { consumed_sessions, sessions } from './schema.ts'
import type { Statements } from './statements.ts'

type Head = Omit<Session, 'inputs'>

/** Consumed sessions that are remembered. */
const consumedKept = 1_000

function sessionGetter({ prepare }: Statements): (key: string) => Session | null {
  const head = prepare<Head, [string]>('select key, agent, dropped, created_ms, updated_ms from sessions where key = ?')
  const inputs = prepare<{ input: string }, [string]>('select input from session_inputs where key = ? order by number')
  return (key) => {
    const found = head.get(key)
    if (found === null) return null
    const { agent, dropped, created_ms, updated_ms } = found
    return {
      key,
      agent,
      inputs: inputs.all(key).map(({ input }) => JSON.parse(input)),
      dropped,
      created_ms,
      updated_ms,
    }
  }
}

export function sessionReader(statements: Statements, db: BunSQLiteDatabase): SessionReader {
  const get = sessionGetter(statements)
  return {
    get: async (key) => get(key),
    async list({ agent, since_ms, limit }) {
      const keys = await db
        .select({ key: sessions.key })
        .from(sessions)
        .where(and(gte(sessions.updated_ms, since_ms), agent === undefined ? undefined : eq(sessions.agent, agent)))
        .orderBy(desc(sessions.updated_ms), sessions.key)
        .limit(limit)
      return keys.map(({ key }) => get(key)).filter((session) => session !== null)
    },
    async consumed({ agent, limit }) {
      const rows = await db
        .select()
        .from(consumed_sessions)
        .where(agent === undefined ? undefined : eq(consumed_sessions.agent, agent))
        .orderBy(desc(consumed_sessions.number))
        .limit(limit)
      return rows.map(({ number: _, ...session }) => session)
    },
  }
}

export function sessionWriter(statements: Statements): (verb: Verb) => SessionWriter {
  const { prepare } = statements
  const get = sessionGetter(statements)
  const start = prepare<unknown, [string, string, number, number]>(
    `insert into sessions (key, agent, dropped, created_ms, updated_ms) values (?, ?, 0, ?, ?)
     on conflict (key) do update set updated_ms = excluded.updated_ms`,
  )
  const add = prepare<unknown, [string, string]>('insert into session_inputs (key, input) values (?, ?)')
  const trim = prepare<unknown, [string, string, number]>(
    `delete from session_inputs where key = ? and number <=
     (select number from session_inputs where key = ? order by number desc limit 1 offset ?)`,
  )
  const drop = prepare<unknown, [number, string]>('update sessions set dropped = dropped + ? where key = ?')
  const end = prepare<unknown, [string]>('delete from sessions where key = ?')
  const endInputs = prepare<unknown, [string]>('delete from session_inputs where key = ?')
  const consumed = prepare<{ number: number }, [string, string, string, number, number]>(
    `insert into consumed_sessions (key, agent, decision_id, input_count, consumed_ms) values (?, ?, ?, ?, ?)
     returning number`,
  )
  const forgetConsumed = prepare<unknown, [number]>('delete from consumed_sessions where number <= ?')
  const expireInputs = prepare<unknown, [number]>(
    'delete from session_inputs where key in (select key from sessions where updated_ms < ?)',
  )
  const expire = prepare<unknown, [number]>('delete from sessions where updated_ms < ?')

  return (verb) => ({
    get: verb(get),
    append: verb((key: string, agent: string, inputs: readonly SessionInput[], keep: number, now_ms: number) => {
      start.run(key, agent, now_ms, now_ms)
      // Busy readers leave thousands at once: those that would be trimmed again are not written first.
      const late = inputs.slice(-keep)
      for (const input of late) add.run(key, JSON.stringify({ ...input, data: input.data ?? null }))
      const dropped = inputs.length - late.length + trim.run(key, key, keep).changes
      if (dropped > 0) drop.run(dropped, key)
    }),
    consume: verb((key: string, decision_id: string, now_ms: number) => {
      const session = get(key)
      if (session === null) return null
      end.run(key)
      endInputs.run(key)
      const { number } = consumed.get(key, session.agent, decision_id, session.inputs.length, now_ms)!
      forgetConsumed.run(number - consumedKept)
      return session
    }),
    expire: verb((before_ms: number) => {
      expireInputs.run(before_ms)
      return expire.run(before_ms).changes
    }),
  })
}
