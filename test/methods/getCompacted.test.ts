/** cstp.getCompacted: each decision at the level of its age, and what restricts the list, on every store. */
import { expect, test } from 'bun:test'
import { decidedByAlice as decided } from '../support/decided.ts'
import { forEachBackend, type TestProgram } from '../support/program.ts'

const dayMs = 86_400_000

forEachBackend((open) => {
  const levelOf = async ({ call }: TestProgram, id: string) =>
    (await call('getCompacted', { limit: 500 })).decisions.find((one) => one.id === id)?.level

  test('a reviewed decision is shown shorter as it ages; a pending one never is', async () => {
    const program = await open()
    const [id, pending] = [await program.record(), await program.record()]
    await program.call('reviewDecision', { id, outcome: 'success' })
    const start = program.clock.now
    for (const [days, level] of [
      [6.99, 'full'],
      [7, 'summary'],
      [29.99, 'summary'],
      [30, 'digest'],
      [89.99, 'digest'],
      [90, 'wisdom'],
      [1_000, 'wisdom'],
    ] as const) {
      program.clock.now = start + days * dayMs
      expect([days, await levelOf(program, id), await levelOf(program, pending)]).toEqual([days, level, 'full'])
      const { levels } = await program.call('getCompacted', { level })
      expect(levels[level]).toBe(level === 'full' ? 2 : 1)
    }
  })

  test('each level has its shape, and nothing is deleted', async () => {
    const program = await open()
    const given = {
      decision: `Use SQLite ${'x'.repeat(200)}`,
      pattern: 'one file',
      lessons: 'vacuum\nit',
      stakes: 'high',
    }
    const ids = []
    for (const days of [1, 10, 40, 100]) ids.push(await decided(program, days, given))
    const { decisions, total, levels } = await program.call('getCompacted')
    expect([total, levels]).toEqual([4, { full: 1, summary: 1, digest: 1, wisdom: 1 }])
    expect(decisions.map(({ id }) => id)).toEqual(ids)
    const [full, summary, digest, wisdom] = decisions
    expect(full).toMatchObject({ level: 'full', bridge: expect.any(Object), recorded_by: 'alice' })
    const common = { category: 'architecture', preserved: false }
    expect(summary).toEqual({
      ...common,
      id: ids[1],
      level: 'summary',
      decision: given.decision,
      date: '2026-06-21',
      outcome: 'success',
      confidence: 0.8,
      actual: 'it ran',
      pattern: 'one file',
      stakes: 'high',
      lessons: 'vacuum\nit',
    })
    const learnt = { outcome: 'success', pattern: 'one file', lessons: 'vacuum\nit' }
    const { title } = await program.call('getDecision', { id: ids[2]! })
    expect(digest).toEqual({
      ...common,
      id: ids[2],
      level: 'digest',
      decision: title,
      date: '2026-05-22',
      ...learnt,
      one_line: expect.any(String),
    })
    expect(digest!.one_line).toEndWith('→ success: vacuum it')
    expect(wisdom).toEqual({ ...common, id: ids[3], level: 'wisdom', decision: title, date: '2026-03-23', ...learnt })
    expect((await program.call('listDecisions')).total).toBe(4)
  })

  test('level, category, limit and include_preserved restrict the list', async () => {
    const program = await open()
    await decided(program, 100, { category: 'trading' })
    const kept = await decided(program, 100)
    await program.call('setPreserve', { decision_id: kept }, 'root')
    await decided(program, 100, {}, '')
    await decided(program, 1)
    const ids = async (given: object) => (await program.call('getCompacted', given)).decisions.length
    expect(await ids({ level: 'full' })).toBe(3)
    expect(await ids({ level: 'full', include_preserved: false })).toBe(2)
    expect(await ids({ level: 'wisdom' })).toBe(1)
    expect(await ids({ category: 'trading' })).toBe(1)
    expect(await ids({ include_preserved: false })).toBe(3)
    const { decisions, total } = await program.call('getCompacted', { limit: 1, level: 'full' })
    expect([decisions.length, total]).toEqual([1, 3])
  })

  test('what is out of bounds is refused', async () => {
    const { refused } = await open()
    for (const given of [{ level: 'short' }, { category: '' }, { limit: 0 }, { limit: 501 }, { include_preserved: 1 }])
      expect([given, (await refused('getCompacted', given)).error]).toEqual([given, 'invalid_params'])
  })
})
