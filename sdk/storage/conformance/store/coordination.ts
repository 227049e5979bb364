/** Store suite: what several servers agree on through the store. */
import type { AuditEntry, Breaker, SessionInput, Store } from '../../store.ts'
import type { Kit } from './kit.ts'
import { createAll, idOf, recordOf, suiteOptions } from './records.ts'

const input = (number: number): SessionInput => ({
  id: `i${number}`,
  type: 'query',
  text: `text "${number}"\n`,
  source: 'queryDecisions',
  timestamp: '2026-01-01T00:00:00Z',
  data: { hits: [{ id: idOf(number), distance: 0.1 }], none: null },
})

export function testCoordination({ onEmpty, expect }: Kit): void {
  onEmpty('a session keeps its newest inputs and counts the others', async (store) => {
    const append = (numbers: number[], now_ms: number) =>
      store.transaction((tx) => tx.sessions.append('ada:', 'ada', numbers.map(input), 3, now_ms))
    await append([1, 2], 10)
    await append([3, 4, 5], 20)
    const expected = {
      key: 'ada:',
      agent: 'ada',
      inputs: [3, 4, 5].map(input),
      dropped: 2,
      created_ms: 10,
      updated_ms: 20,
    }
    expect(await store.sessions.get('ada:')).toEqual(expected)
    expect(await store.transaction((tx) => tx.sessions.get('ada:'))).toEqual(expected)
    await append([6, 7, 8, 9], 30)
    expect(await store.sessions.get('ada:')).toEqual({
      ...expected,
      inputs: [7, 8, 9].map(input),
      dropped: 6,
      updated_ms: 30,
    })
    expect(await store.sessions.get('other')).toBe(null)
  })

  onEmpty('exactly one transaction consumes a session', async (store) => {
    await store.transaction((tx) => tx.sessions.append('k', 'ada', [input(1), input(2)], 9, 10))
    const got = await Promise.all(
      Array.from({ length: 20 }, (_, number) => store.transaction((tx) => tx.sessions.consume('k', idOf(number), 50))),
    )
    const winners = got.flatMap((session, number) => (session === null ? [] : [number]))
    expect(winners.length).toBe(1)
    expect(got[winners[0]!]?.inputs).toEqual([input(1), input(2)])
    expect(await store.sessions.get('k')).toBe(null)
    const consumed = { key: 'k', agent: 'ada', decision_id: idOf(winners[0]!), input_count: 2, consumed_ms: 50 }
    expect(await store.sessions.consumed({ limit: 9 })).toEqual([consumed])
    expect(await store.sessions.consumed({ agent: 'bob', limit: 9 })).toEqual([])
  })

  onEmpty('sessions are listed newest first, and end when idle', async (store) => {
    for (const [key, agent, now] of [
      ['c', 'ada', 10],
      ['a', 'bob', 30],
      ['b', 'ada', 30],
      ['d', 'ada', 20],
    ] as const)
      await store.transaction((tx) => tx.sessions.append(key, agent, [input(now)], 9, now))
    const keys = async (query: Parameters<Store['sessions']['list']>[0]) =>
      (await store.sessions.list(query)).map(({ key }) => key)
    expect(await keys({ since_ms: 0, limit: 9 })).toEqual(['a', 'b', 'd', 'c'])
    expect(await keys({ since_ms: 20, limit: 9 })).toEqual(['a', 'b', 'd'])
    expect(await keys({ agent: 'ada', since_ms: 0, limit: 2 })).toEqual(['b', 'd'])
    expect(await store.transaction((tx) => tx.sessions.expire(20))).toBe(1)
    expect(await keys({ since_ms: 0, limit: 9 })).toEqual(['a', 'b', 'd'])
    expect(await store.transaction((tx) => tx.sessions.expire(31))).toBe(3)
    await store.transaction((tx) => tx.sessions.append('c', 'ada', [input(1)], 9, 40))
    expect((await store.sessions.get('c'))?.inputs).toEqual([input(1)])
    for (const key of ['c', 'b'])
      await store.transaction(async (tx) => {
        await tx.sessions.append(key, 'ada', [], 9, 41)
        await tx.sessions.consume(key, idOf(1), 41)
      })
    expect((await store.sessions.consumed({ limit: 1 })).map(({ key }) => key)).toEqual(['b'])
  })

  onEmpty('logins are kept until they are ended or expire', async (store) => {
    const login = (name: string, used_ms: number, expires_ms: number) => ({
      id_hash: name,
      agent: 'ada',
      seal: `seal of ${name}`,
      used_ms,
      expires_ms,
    })
    await store.transaction(async (tx) => {
      for (const one of [login('a', 10, 100), login('b', 20, 50), login('c', 30, 100)]) await tx.logins.put(one)
    })
    expect(await store.logins.get('a')).toEqual(login('a', 10, 100))
    expect(await store.logins.get('nobody')).toBe(null)
    await store.transaction((tx) => tx.logins.put(login('a', 40, 100)))
    expect(await store.transaction((tx) => tx.logins.get('a'))).toEqual(login('a', 40, 100))
    expect(await store.transaction((tx) => tx.logins.expire(49, 20))).toBe(0)
    expect(await store.transaction((tx) => tx.logins.expire(50, 31))).toBe(2)
    for (const name of ['b', 'c']) expect(await store.logins.get(name)).toBe(null)
    await store.transaction((tx) => tx.logins.delete('a'))
    await store.transaction((tx) => tx.logins.delete('a'))
    expect(await store.logins.get('a')).toBe(null)
  })

  onEmpty('breakers are kept by scope', async (store) => {
    const breaker = (scope: string, changes: Partial<Breaker> = {}): Breaker => ({
      scope,
      state: 'closed',
      failures_ms: [],
      reviews_ms: [],
      opened_ms: null,
      probe_decision_id: null,
      probe_started_ms: null,
      ...changes,
    })
    const probing = breaker('global', {
      state: 'half_open',
      failures_ms: [1, 2.5],
      reviews_ms: [0, 1, 2.5],
      opened_ms: 3,
      probe_decision_id: idOf(1),
      probe_started_ms: 4,
    })
    await store.transaction(async (tx) => {
      await tx.breakers.put(breaker('tag:z'))
      await tx.breakers.put(breaker('global', { state: 'open' }))
      await tx.breakers.put(probing)
    })
    expect(await store.breakers.list()).toEqual([probing, breaker('tag:z')])
    expect(await store.breakers.get('global')).toEqual(probing)
    expect(await store.breakers.get('none')).toBe(null)
  })

  onEmpty('the audit trail is read newest first, by filter and cursor', async (store) => {
    const entries = Array.from(
      { length: 20 },
      (_, number): AuditEntry => ({
        at: new Date(1_000 * number).toISOString(),
        agent: number % 2 === 0 ? 'ada' : 'bob',
        method: number % 3 === 0 ? 'recordDecision' : 'checkGuardrails',
        request_id: `r${number}`,
        ids: number % 3 === 0 ? [idOf(number)] : [],
        allowed: number % 4 === 0 ? null : number % 4 === 1,
        rules: ['a', "b'", 'c', 'a'].slice(0, number % 5),
        detail: number % 2 === 0 ? null : { nested: [number, 'x\0'] },
      }),
    )
    for (const entry of entries) await store.transaction((tx) => tx.audit.append(entry))
    const all = await store.audit.list({ limit: 99 })
    expect(all.map(({ seq: _, ...entry }) => entry)).toEqual([...entries].reverse())
    expect(all.every(({ seq }, at) => at === 0 || seq < all[at - 1]!.seq)).toBe(true)
    const found = async (query: Omit<Parameters<Store['audit']['list']>[0], 'limit'>) =>
      (await store.audit.list({ ...query, limit: 99 })).map(({ request_id }) => request_id)
    const expected = (test: (entry: AuditEntry) => boolean) =>
      entries
        .filter(test)
        .map(({ request_id }) => request_id)
        .reverse()
    expect(await found({ since_ms: 15_000 })).toEqual(expected(({ at }) => Date.parse(at) >= 15_000))
    expect(await found({ agent: 'bob' })).toEqual(expected(({ agent }) => agent === 'bob'))
    expect(await found({ method: 'recordDecision' })).toEqual(expected(({ method }) => method === 'recordDecision'))
    for (const rule of ['a', "b'", '%', 'none'])
      expect(await found({ rule })).toEqual(expected(({ rules }) => rules.includes(rule)))
    for (const allowed of [true, false])
      expect(await found({ allowed })).toEqual(expected((entry) => entry.allowed === allowed))
    expect(await found({ agent: 'ada', rule: 'a', allowed: false })).toEqual(
      expected(({ agent, rules, allowed }) => agent === 'ada' && rules.includes('a') && allowed === false),
    )
    const page = await store.audit.list({ limit: 7 })
    expect([...page, ...(await store.audit.list({ cursor: page.at(-1)!.seq, limit: 99 }))]).toEqual(all)
  })

  onEmpty('an outbox entry is claimed once for its lease, and again after it', async (store) => {
    await createAll(
      store,
      [1, 2, 3].map((number) => recordOf(number)),
    )
    const add = (number: number, now_ms: number) => store.transaction((tx) => tx.outbox.add(idOf(number), now_ms))
    const claim = (now_ms: number, limit = 9) => store.transaction((tx) => tx.outbox.claim(limit, 100, now_ms))
    await add(2, 20)
    await add(1, 10)
    await add(1, 10)
    await add(3, 500)
    expect(await store.outbox.depth()).toBe(3)
    const claims = await Promise.all([claim(50, 1), claim(50, 1), claim(50, 1)])
    // Which of them goes first is the engine's affair.
    const [first, second] = claims.flat().sort((a, b) => (a.id < b.id ? -1 : 1))
    expect(claims.map(({ length }) => length).sort()).toEqual([0, 1, 1])
    expect([first?.id, second?.id]).toEqual([idOf(1), idOf(2)])
    expect([first!.attempts, await store.outbox.depth()]).toEqual([0, 3])
    await store.transaction((tx) => tx.outbox.done(first!))
    expect(await store.outbox.depth()).toBe(2)
    expect(await claim(149)).toEqual([])
    const [again] = await claim(150)
    expect([again?.id, again?.attempts, again?.claim === second?.claim]).toEqual([idOf(2), 1, false])
    await store.transaction((tx) => tx.outbox.done(second!))
    expect(await store.outbox.depth()).toBe(2)
    await store.transaction((tx) => tx.outbox.retry(again!, 300, 'away'))
    await store.transaction((tx) => tx.outbox.retry(second!, 0, 'too late'))
    expect(await claim(299)).toEqual([])
    const [third] = await claim(300)
    expect(third?.attempts).toBe(2)
    // The text changed meanwhile: the entry is new, and the old claim has nothing to say about it.
    await add(2, 310)
    await store.transaction((tx) => tx.outbox.done(third!))
    expect((await claim(310)).map(({ id, attempts }) => [id, attempts])).toEqual([[idOf(2), 0]])
    expect((await store.status()).outbox).toBe(2)
  })

  onEmpty('idempotency keys belong to an agent and expire', async (store) => {
    const now = suiteOptions.now()
    const value = (text: string) => ({ digest: text, result: { text, none: null } })
    const put = (agent: string, key: string, text: string, expires: number) =>
      store.transaction((tx) => tx.idempotency.put(agent, key, value(text), expires))
    const get = (agent: string, key: string, at: number) =>
      store.transaction((tx) => tx.idempotency.get(agent, key, at))
    await put('ada', 'k', 'first', now + 100)
    await put('bob', 'k', 'other', now + 200)
    expect(await get('ada', 'k', now)).toEqual(value('first'))
    expect(await get('bob', 'k', now)).toEqual(value('other'))
    expect(await get('ada', 'K', now)).toBe(null)
    expect(await get('ada', 'k', now + 99)).toEqual(value('first'))
    expect(await get('ada', 'k', now + 100)).toBe(null)
    await put('ada', 'k', 'second', now + 300)
    expect(await get('ada', 'k', now + 250)).toEqual(value('second'))
    await put('ada', 'old', 'gone', now - 1)
    await put('ada', 'next', 'x', now + 1)
    expect(await get('ada', 'old', now - 2)).toBe(null)
  })
}
