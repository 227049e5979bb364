/** Decisions whose agent named no category: nothing is invented for them, and they are in no figure by category. */
import { expect, test } from 'bun:test'
import { forEachBackend } from '../support/program.ts'

const names = ['recent', 'plain', 'older', 'large', 'small', 'late']

forEachBackend((open) => {
  test('it is null wherever a decision is shown, and sorts before all others', async () => {
    const program = await open()
    const { decision_id: id } = await program.call('preAction', { action: { description: 'Cache the price list' } })
    const other = await program.record({ decision: 'Cache the stock list', category: 'architecture' })
    const shown = async (of: { decisions: { id: string }[] }) =>
      of.decisions.map((one) => [one.id, (one as { category?: unknown }).category])
    const both = [
      [id, null],
      [other, 'architecture'],
    ]
    expect((await program.call('getDecision', { id: id! })).category).toBeNull()
    for (const order of ['asc', 'desc'] as const) {
      const expected = order === 'asc' ? both : both.toReversed()
      const page = (offset: number, limit: number) =>
        program.call('listDecisions', { sort: 'category', order, offset, limit }).then(shown)
      expect(await page(0, 9)).toEqual(expected)
      expect(await page(1, 9)).toEqual(expected.slice(1))
    }
    expect((await program.call('listDecisions', { category: 'architecture' })).total).toBe(1)
    // No filter can name it.
    expect((await program.call('listDecisions', { category: 'uncategorized' })).total).toBe(0)
    expect((await program.call('listDecisions', { category: 'null' })).total).toBe(0)
    const hits = await program.call('queryDecisions', { query: 'price list', retrieval_mode: 'keyword' })
    expect((await shown(hits)).find(([found]) => found === id)).toEqual([id, null])
    expect(
      (await program.call('queryDecisions', { query: 'uncategorized null', retrieval_mode: 'keyword' })).total,
    ).toBe(0)
    const { nodes } = await program.call('getGraph', { decision_id: id! })
    expect(nodes[0]!.category).toBeNull()
    const { decisions } = await program.call('getCompacted', {})
    expect(decisions.find((one) => one.id === id)!.category).toBeNull()
  })

  test('it is in the figures of all, and in none by category', async () => {
    const program = await open()
    for (const [at, name] of names.entries()) {
      const action = { description: `Ship the ${name} release`, confidence: 0.9 }
      const { decision_id: id } = await program.call('preAction', { action, pattern: 'ship small' })
      await program.call(
        'reviewDecision',
        { id: id!, outcome: at === 0 ? 'failure' : 'success', lessons: 'Test it' },
        'bob',
      )
    }
    const stats = await program.call('getStats', {})
    expect([stats.total, stats.by_category]).toEqual([6, {}])
    const whole = await program.call('getCalibration', { agent: 'alice' })
    expect([whole.reviewed_decisions, whole.overall.accuracy]).toEqual([6, expect.any(Number)])
    expect(await program.call('getWisdom', { min_decisions: 1 })).toMatchObject({ wisdom: [], categories_analyzed: 0 })
    const task = { task_description: 'Ship the next release' }
    const own = { total_decisions: 6, reviewed_decisions: 6, accuracy: whole.overall.accuracy }
    expect(await program.call('getSessionContext', task)).toMatchObject({
      agent_profile: own,
      calibration_by_category: [],
    })
    const { calibration_context } = await program.call('preAction', {
      action: { description: 'Ship it' },
      options: { auto_record: false },
    })
    expect(calibration_context).toMatchObject({ reviewed_decisions: 6, accuracy: own.accuracy })
    const { markdown } = await program.call('getSessionContext', { ...task, format: 'markdown' })
    expect(markdown).not.toMatch(/\bnull\b|uncategorized/)
  })

  test('only preAction and imports leave it out', async () => {
    const program = await open()
    const given = { decision: 'Use SQLite', confidence: 0.8, category: null }
    expect((await program.refused('recordDecision', given)).data).toMatchObject({ issues: [{ path: 'category' }] })
    const imported = { ...given, source_key: 'jira-1', created_at: '2025-01-01' }
    const { decision_id: id } = await program.call('recordDecision', imported, 'root')
    expect((await program.call('getDecision', { id })).category).toBeNull()
  })

  test('rules see that it is absent, when it is checked and when it is recorded', async () => {
    const program = await open()
    program.services.record_guardrails = 'block'
    await program.rules(
      '- { id: named, message: m, conditions: [{ type: field, field: category, operator: exists, value: false }] }',
    )
    const pre = (action: object) => program.call('preAction', { action: { description: 'Ship', ...action } })
    expect(await pre({})).toMatchObject({ allowed: false, violations: [{ guardrail_id: 'named' }] })
    await program.rules(
      '- { id: named, message: m, condition_phase: record, conditions: [{ type: field, field: category, operator: exists, value: false }] }',
    )
    expect(await pre({})).toMatchObject({ allowed: false, violations: [{ guardrail_id: 'named' }] })
    expect((await pre({ category: 'release' })).allowed).toBe(true)
  })
})
