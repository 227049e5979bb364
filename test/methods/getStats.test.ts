/** cstp.getStats: counts, on every store. */
import { expect, spyOn, test } from 'bun:test'
import { forEachBackend } from '../support/program.ts'

forEachBackend((open) => {
  test('count by every field', async () => {
    const { call, record, clock } = await open()
    const day = 86_400_000
    const now = clock.now
    const at = (days: number, given: Record<string, unknown>, as: 'alice' | 'bob' = 'alice') => {
      clock.now = now - days * day
      return record(given, as)
    }
    const old = await at(40, { category: 'x', stakes: 'low', tags: ['b', 'a'], project: 'p' })
    await at(10, { category: 'x', tags: ['a'], project: 'q' }, 'bob')
    await at(2, { category: 'y', tags: ['c', 'b', 'a'] })
    await at(2, { category: '__proto__' })
    const latest = await at(1, { category: 'constructor', project: 'p' })
    clock.now = now
    await call('reviewDecision', { id: old, outcome: 'success' })
    await call('reviewDecision', { id: latest, outcome: 'success' })
    const stats = await call('getStats')
    expect(stats).toMatchObject({
      total: 5,
      by_stakes: { medium: 4, low: 1 },
      by_status: { pending: 3, reviewed: 2 },
      by_outcome: { success: 2 },
      by_agent: { alice: 4, bob: 1 },
      by_project: { p: 2, q: 1 },
      by_day: [
        { date: '2026-05-22', count: 1 },
        { date: '2026-06-21', count: 1 },
        { date: '2026-06-29', count: 2 },
        { date: '2026-06-30', count: 1 },
      ],
      top_tags: [
        { tag: 'a', count: 3 },
        { tag: 'b', count: 2 },
        { tag: 'c', count: 1 },
      ],
      recent_activity: { last_24h: 1, last_7d: 3, last_30d: 4 },
    })
    expect(JSON.parse(JSON.stringify(Object.entries(stats.by_category).sort()))).toEqual([
      ['__proto__', 1],
      ['constructor', 1],
      ['x', 2],
      ['y', 1],
    ])
    expect(await call('getStats', { project: 'p' })).toMatchObject({
      total: 2,
      by_category: { x: 1, constructor: 1 },
      recent_activity: { last_24h: 1, last_7d: 1, last_30d: 1 },
    })
    expect(await call('getStats', { date_from: '2026-06-21', date_to: '2026-06-29' })).toMatchObject({
      total: 3,
      by_day: [
        { date: '2026-06-21', count: 1 },
        { date: '2026-06-29', count: 2 },
      ],
      recent_activity: { last_24h: 0, last_7d: 2, last_30d: 3 },
    })
  })

  test('tell the 20 most used tags, ties by name', async () => {
    const { call, record } = await open()
    const tags = Array.from({ length: 30 }, (_, index) => `t${String(index).padStart(2, '0')}`)
    await record({ tags })
    await record({ tags: ['t29'] })
    const { top_tags } = await call('getStats')
    expect(top_tags.map(({ tag }) => tag)).toEqual(['t29', ...tags.slice(0, 19)])
  })

  test('as of an earlier time read the decisions that changed since, and no others', async () => {
    const { call, record, clock, services } = await open()
    const ids = await Promise.all(Array.from({ length: 40 }, () => record({ category: 'x' })))
    clock.now += 60_000
    const as_of = new Date(clock.now).toISOString()
    clock.now += 120_000
    for (const id of ids.slice(0, 3)) await call('reviewDecision', { id, outcome: 'success' })
    for (let more = 0; more < 20; more++) await record({ category: 'y' })
    const { get, find, list } = services.store.decisions
    let read = 0
    const spies = [
      spyOn(services.store.decisions, 'get').mockImplementation((given) => {
        read += given.length
        return get(given)
      }),
      spyOn(services.store.decisions, 'list').mockImplementation(async (query) => {
        const found = await list(query)
        read += found.texts.length
        return found
      }),
      spyOn(services.store.decisions, 'find').mockImplementation(async (query) => {
        const found = await find(query)
        read += found.length
        return found
      }),
    ]
    const stats = await call('getStats', { as_of })
    for (const spy of spies) spy.mockRestore()
    expect(stats).toMatchObject({ total: 40, by_category: { x: 40 }, by_status: { pending: 40 } })
    // Listed and read once for each of the four periods at most.
    expect(read).toBeGreaterThan(0)
    expect(read).toBeLessThanOrEqual(3 * 2 * 4)
  })
})
