/** Store suite: the state that several servers share through the store. */
import type { AuditEntry, KeyedRecord, Store } from '../../store.ts'
import type { Kit } from './kit.ts'
import { idOf } from './records.ts'

export function testCoordination({ onEmpty, expect, refused }: Kit): void {
  onEmpty('keyed records are read as they were written, by collection and key', async (store) => {
    const value = { text: 'nul\0 "x"\n漢', list: [1, 2.5, null, true], none: {} }
    await store.transaction(async ({ keyed }) => {
      await keyed.put('a', 'k', 'first')
      await keyed.put('a', 'k', value, { expires_ms: 7 })
      await keyed.put('a', 'odd\0\u0001', undefined)
      await keyed.put('b', 'k', 'other')
    })
    const record: KeyedRecord = { key: 'k', value, version: 2, expires_ms: 7 }
    const odd: KeyedRecord = { key: 'odd\0\u0001', value: null, version: 1, expires_ms: null }
    const other: KeyedRecord = { key: 'k', value: 'other', version: 1, expires_ms: null }
    for (const get of [
      store.keyed.get,
      (collection: string, keys: string[]) => store.transaction(({ keyed }) => keyed.get(collection, keys)),
    ]) {
      expect(await get('a', ['odd\0\u0001', 'none', 'k'])).toEqual([odd, record])
      expect(await get('b', ['k'])).toEqual([other])
      expect(await get('b', [])).toEqual([])
      expect(await get('c', ['k'])).toEqual([])
    }
    await store.transaction(({ keyed }) => keyed.delete('a', ['k', 'none']))
    expect(await store.keyed.get('a', ['k'])).toEqual([])
    expect(await store.keyed.get('b', ['k'])).toEqual([other])
    await store.transaction(({ keyed }) => keyed.put('a', 'k', 'new'))
    expect((await store.keyed.get('a', ['k']))[0]?.version).toBe(1)
  })

  onEmpty('keyed records are listed by key, by prefix, from a key on, either way', async (store) => {
    const names = ['ada', 'ada\n', 'ada\n1', 'ada\n2', 'adam', 'b', '%']
    await store.transaction(async ({ keyed }) => {
      for (const name of names) await keyed.put('a', name, null)
      await keyed.put('b', 'ada\n3', null)
    })
    const keys = async (query: Omit<Parameters<typeof store.keyed.list>[1], 'limit'>, limit = 9) =>
      (await store.keyed.list('a', { ...query, limit })).map(({ key }) => key)
    const sorted = [...names].sort()
    expect(await keys({})).toEqual(sorted)
    expect(await keys({ order: 'desc' })).toEqual([...sorted].reverse())
    expect(await keys({ prefix: 'ada\n' })).toEqual(['ada\n', 'ada\n1', 'ada\n2'])
    expect(await keys({ prefix: 'ada\n', after: 'ada\n' })).toEqual(['ada\n1', 'ada\n2'])
    expect(await keys({ prefix: 'ada', order: 'desc', after: 'ada\n2' }, 2)).toEqual(['ada\n1', 'ada\n'])
    expect(await keys({ after: 'ada' }, 2)).toEqual(['ada\n', 'ada\n1'])
    expect(await keys({ prefix: 'c' })).toEqual([])
  })

  onEmpty('a keyed record is replaced only at the version that is named', async (store) => {
    await store.transaction(async ({ keyed }) => {
      await refused(keyed.put('a', 'k', 0, { version: 1 }), 'conflict')
      await keyed.put('a', 'k', 1, { version: 0 })
      await refused(keyed.put('a', 'k', 2, { version: 0 }), 'conflict')
      await keyed.put('a', 'k', 3, { version: 1 })
      await refused(keyed.put('a', 'k', 4, { version: 1 }), 'conflict')
    })
    expect(await store.keyed.get('a', ['k'])).toEqual([{ key: 'k', value: 3, version: 2, expires_ms: null }])
    const races = await Promise.allSettled(
      Array.from({ length: 20 }, (_, number) =>
        store.transaction(({ keyed }) => keyed.put('a', 'k', number, { version: 2 })),
      ),
    )
    expect(races.filter(({ status }) => status === 'fulfilled').length).toBe(1)
    expect((await store.keyed.get('a', ['k']))[0]?.version).toBe(3)
  })

  onEmpty('what a transaction read by key, found or not, stays so until it ends', async (store) => {
    await Promise.all(
      Array.from({ length: 40 }, (_, number) =>
        store.transaction(async ({ keyed }) => {
          const a = await keyed.get('n', ['a'])
          const b = await keyed.get('n', ['b', 'c'])
          const count = (a[0]?.value as number | undefined) ?? 0
          expect((b[0]?.value as number | undefined) ?? 0).toBe(count)
          for (const key of number % 2 === 0 ? ['a', 'b'] : ['b', 'a']) await keyed.put('n', key, count + 1)
        }),
      ),
    )
    expect((await store.keyed.get('n', ['a', 'b'])).map(({ value }) => value)).toEqual([40, 40])
    const taken = await Promise.all(
      Array.from({ length: 20 }, () =>
        store.transaction(async ({ keyed }) => {
          const found = await keyed.get('n', ['a'])
          await keyed.delete('n', ['a'])
          return found.length
        }),
      ),
    )
    expect(taken.reduce((sum, length) => sum + length)).toBe(1)
  })

  onEmpty('keyed records expire oldest first, once each, and are read until then', async (store) => {
    await store.transaction(async ({ keyed }) => {
      for (const [key, expires_ms] of [
        ['c', 10],
        ['a', 30],
        ['b', 10],
        ['d', 31],
        ['e', null],
      ] as const)
        await keyed.put('a', key, key, { expires_ms })
      await keyed.put('b', 'a', 'a', { expires_ms: 1 })
    })
    const expire = (now_ms: number, limit: number) =>
      store.transaction(({ keyed }) => keyed.expire('a', now_ms, limit)).then((ended) => ended.map(({ key }) => key))
    expect(await expire(9, 9)).toEqual([])
    expect((await store.keyed.list('a', { limit: 9 })).length).toBe(5)
    expect(await expire(30, 1)).toEqual(['b'])
    await store.transaction(({ keyed }) => keyed.put('a', 'c', 'again', { expires_ms: 50 }))
    expect((await Promise.all(Array.from({ length: 9 }, () => expire(30, 9)))).flat()).toEqual(['a'])
    expect((await store.keyed.list('a', { limit: 9 })).map(({ key }) => key)).toEqual(['c', 'd', 'e'])
    await store.transaction(({ keyed }) => keyed.put('a', 'd', 'for good'))
    expect(await expire(9e15, 9)).toEqual(['c'])
    expect((await store.keyed.get('b', ['a'])).length).toBe(1)
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
    for (const entry of entries) await store.transaction((tx) => tx.append({ audit: [entry] }))
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

  onEmpty(
    'the oldest audit entries are removed a batch at a time, with an entry that records it',
    async (store, again) => {
      const entry = (number: number): AuditEntry => ({
        at: new Date(1_000 * number).toISOString(),
        agent: 'ada',
        method: number % 4 === 0 ? 'keep' : 'go',
        request_id: `r${number}`,
        ids: [],
        allowed: true,
        rules: ['a', `b${number}`],
        detail: null,
      })
      // Not in the order of their times, as if a clock was set back.
      for (const number of [3, 2, 1, 4, 5, 6, 7, 8, 9])
        await store.transaction((tx) => tx.append({ audit: [entry(number)] }))
      const expire = (before_ms: number, limit: number) =>
        store.transaction((tx) => tx.erase({ expired: { before_ms, keep: ['keep'], limit } }))
      const left = async (query: { rule?: string } = {}) =>
        (await store.audit.list({ limit: 99, ...query })).map(({ request_id }) => request_id)
      expect(await expire(1_000, 9)).toBe(0)
      expect(await left()).toEqual(['r9', 'r8', 'r7', 'r6', 'r5', 'r4', 'r1', 'r2', 'r3'])
      expect(await expire(7_000, 2)).toBe(2)
      const [line] = await store.audit.list({ limit: 1 })
      const detail = { removed: 2, before: '1970-01-01T00:00:07.000Z', before_ms: 7_000 }
      expect([line!.method, line!.allowed, line!.detail]).toEqual(['audit.retention', null, detail])
      expect(await left()).toEqual(['retention', 'r9', 'r8', 'r7', 'r6', 'r5', 'r4', 'r3'])
      expect(await left({ rule: 'b1' })).toEqual([])
      expect(await left({ rule: 'a' })).toEqual(['r9', 'r8', 'r7', 'r6', 'r5', 'r4', 'r3'])
      // Concurrently, from two servers: each entry is removed once. Kept entries and retention entries stay.
      const other = await again()
      const both = [store, other].map((one) =>
        one.transaction((tx) => tx.erase({ expired: { before_ms: 7_000, keep: ['keep'], limit: 9 } })),
      )
      expect((await Promise.all(both)).sort()).toEqual([0, 3])
      expect(await expire(9e12, 99)).toBe(2)
      expect(await left()).toEqual(['retention', 'retention', 'retention', 'r8', 'r4'])
      expect(await expire(9e12, 99)).toBe(0)
    },
  )
}
