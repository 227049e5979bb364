/** Deliberation sessions and circuit breakers that two servers change at once, on stores that they share. */
import { afterAll, describe, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { suiteOptions } from '../../../../sdk/storage/conformance/store/records.ts'
import { isStorageError } from '../../../../sdk/storage/errors.ts'
import type { Store } from '../../../../sdk/storage/store.ts'
import type { Breaker } from '../../../../src/domain/policy/judge/breaker.ts'
import { breakerCollection, putBreaker } from '../../../../src/domain/policy/judge/breakers.ts'
import {
  appendInputs,
  consumeSession,
  expireSessions,
  getSession,
  listConsumed,
  listSessions,
  type SessionInput,
} from '../../../../src/domain/record/deliberation/sessions.ts'
import { openPostgresStore } from '../../../../src/drivers/store/postgres/driver.ts'
import { openSqliteStore } from '../../../../src/drivers/store/sqlite/driver.ts'
import { freshSchema, postgres } from '../../../support/postgres.ts'

const dirs: string[] = []
afterAll(() => {
  for (const dir of dirs) rmSync(dir, { recursive: true })
})

const server = postgres()
const places: Record<string, () => () => Promise<Store>> = {
  sqlite: () => {
    const dir = mkdtempSync(join(tmpdir(), 'cstp-sessions-'))
    dirs.push(dir)
    return () => openSqliteStore({ ...suiteOptions, dir })
  },
  ...(server && {
    postgres: () => {
      const url = freshSchema(server)
      return () => openPostgresStore({ ...suiteOptions, url })
    },
  }),
}

const input = (text: string): SessionInput => ({
  id: text,
  type: 'thought',
  text,
  source: 's',
  timestamp: '',
  data: null,
})
const who = { key: 'ada', agent: 'ada' }
const at = (now_ms: number) => ({ now_ms, ttl_ms: 1_000 })

for (const [name, place] of Object.entries(places))
  describe(name, () => {
    async function onTwo(body: (one: Store, two: Store) => Promise<void>): Promise<void> {
      const open = place()
      const one = await open()
      const two = await open()
      try {
        await body(one, two)
      } finally {
        await Promise.all([one.close(), two.close()])
      }
    }

    test('notes of two servers are all kept, and exactly one decision takes them', () =>
      onTwo(async (one, two) => {
        await Promise.all(
          Array.from({ length: 60 }, (_, number) =>
            (number % 2 === 0 ? one : two).transaction((tx) =>
              appendInputs(tx, who, [input(`n${number}`)], at(number)),
            ),
          ),
        )
        const session = (await getSession(one, 'ada'))!
        expect(new Set(session.inputs.map(({ id }) => id)).size).toBe(60)
        expect(session.dropped).toBe(0)
        const taken = await Promise.all(
          Array.from({ length: 10 }, (_, number) =>
            (number % 2 === 0 ? one : two).transaction((tx) => consumeSession(tx, 'ada', `d${number}`, at(70))),
          ),
        )
        expect(taken.flatMap((found) => found ?? []).map(({ inputs }) => inputs)).toEqual([session.inputs])
        expect(await getSession(two, 'ada')).toBe(null)
        expect((await listConsumed(two)).map(({ input_count }) => input_count)).toEqual([60])
        expect(await one.keyed.list('session', { limit: 9 })).toEqual([])
      }))

    test('a session keeps its newest inputs, starts over when it was idle, and leaves nothing behind', () =>
      onTwo(async (one, two) => {
        const append = (count: number, now_ms: number, agent = 'ada') =>
          one.transaction((tx) =>
            appendInputs(
              tx,
              { key: agent, agent },
              Array.from({ length: count }, (_, number) => input(`${now_ms}-${number}`)),
              at(now_ms),
            ),
          )
        for (const [count, now_ms] of [
          [150, 1],
          [40, 2],
          [30, 3],
          [0, 4],
        ] as const)
          await append(count, now_ms)
        const session = (await getSession(two, 'ada'))!
        expect([session.inputs.length, session.dropped, session.created_ms, session.updated_ms]).toEqual([
          200, 20, 1, 4,
        ])
        expect([session.inputs[0]!.id, session.inputs.at(-1)!.id]).toEqual(['1-20', '3-29'])
        await append(900, 5)
        expect([(await getSession(two, 'ada'))!.inputs.length, (await getSession(two, 'ada'))!.dropped]).toEqual([
          200, 920,
        ])
        expect((await one.keyed.list('session', { limit: 9 })).length).toBe(2)
        await append(1, 1_006)
        expect(await getSession(two, 'ada')).toMatchObject({
          inputs: [{ id: '1006-0' }],
          dropped: 0,
          created_ms: 1_006,
        })
        await append(1, 1_500, 'adam')
        expect((await listSessions(two)).map(({ key }) => key)).toEqual(['adam', 'ada'])
        expect((await listSessions(two, 'ada')).map(({ key }) => key)).toEqual(['ada'])
        await expireSessions(two, 2_007)
        expect((await listSessions(one)).map(({ key }) => key)).toEqual(['adam'])
        await expireSessions(two, 9_000)
        expect(await one.keyed.list('session', { limit: 9 })).toEqual([])
      }))

    test('of two servers that trip a breaker from the same state one is refused', () =>
      onTwo(async (one, two) => {
        const open: Breaker = {
          scope: 'global',
          state: 'open',
          reviews_ms: [1],
          failures: [{ decision_id: 'a', at_ms: 1 }],
          opened_by: [],
          opened_ms: 1,
          probe_decision_id: null,
          probe_started_ms: null,
        }
        for (const version of [0, 1]) {
          const trips = await Promise.allSettled(
            [one, two].map((store) => store.transaction(({ keyed }) => putBreaker(keyed, open, version))),
          )
          const refused = trips.flatMap((trip) => (trip.status === 'rejected' ? [trip.reason] : []))
          expect(refused.map((error) => isStorageError(error, 'conflict'))).toEqual([true])
          expect((await two.keyed.get(breakerCollection, ['global']))[0]?.version).toBe(version + 1)
        }
      }))
  })
