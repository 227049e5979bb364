/** cstp.getStats: counts, on every store. */
import { expect, test } from 'bun:test'
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
})
