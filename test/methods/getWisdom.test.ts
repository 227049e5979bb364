/** cstp.getWisdom: what held in a category, how it fails, and what its confidence was worth, on every store. */
import { expect, test } from 'bun:test'
import { decidedByAlice as decided } from '../support/decided.ts'
import { forEachBackend } from '../support/program.ts'

forEachBackend((open) => {
  test('wisdom: what held in a category, how it fails, and what its confidence was worth', async () => {
    const program = await open()
    for (let at = 0; at < 3; at++) {
      const id = await decided(program, 5, { pattern: 'cache reads', confidence: 0.9 })
      await program.call('reviewDecision', { id, outcome: 'success' }, 'bob')
    }
    await decided(program, 5, { pattern: 'cache writes' })
    await decided(program, 5, { pattern: 'cache writes', lessons: 'lost  writes' }, 'failure')
    await decided(program, 5, { lessons: 'lost writes' }, 'failure')
    await decided(program, 4, { lessons: 'slow' }, 'failure')
    await decided(program, 5, {}, 'abandoned')
    await decided(program, 5, { category: 'small' })
    const { wisdom, ...counts } = await program.call('getWisdom')
    expect(counts).toEqual({ total_decisions: 8, categories_analyzed: 1 })
    expect(wisdom).toMatchObject([
      {
        category: 'architecture',
        decisions: 8,
        success_rate: 0.5714,
        key_principles: [{ text: 'cache reads', confirmations: 3 }],
        common_failure_mode: 'lost writes',
        avg_confidence: 0.8375,
      },
    ])
    expect(wisdom[0]!.key_principles[0]!.example_ids.length).toBe(3)
    expect((await program.call('getWisdom', { min_decisions: 1 })).categories_analyzed).toBe(2)
    expect((await program.call('getWisdom', { category: 'small', min_decisions: 1 })).wisdom).toMatchObject([
      { category: 'small', success_rate: 1, common_failure_mode: null, key_principles: [] },
    ])
  })

  test('a principle needs several recorders, or the reviews of others', async () => {
    const program = await open()
    const pattern = 'All guardrails were lifted'
    const told = async () => {
      const { wisdom } = await program.call('getWisdom', { min_decisions: 1 })
      const { confirmed_patterns, markdown } = {
        ...(await program.call('getSessionContext', {}, 'bob')),
        ...(await program.call('getSessionContext', { format: 'markdown' }, 'bob')),
      }
      expect(markdown!.includes('Principles that held')).toBe(confirmed_patterns!.length > 0)
      const of = wisdom.flatMap(({ key_principles }) => key_principles.map(({ confirmations }) => confirmations))
      expect(confirmed_patterns!.map(({ count }) => count)).toEqual(of)
      return of
    }
    const ids: string[] = []
    for (let at = 0; at < 12; at++) ids.push(await decided(program, 5, { pattern }))
    expect(await told()).toEqual([])
    await program.call('reviewDecision', { id: ids[0], outcome: 'success' }, 'bob')
    expect(await told()).toEqual([1])
    const other = await program.record({ pattern }, 'bob')
    await program.call('reviewDecision', { id: other, outcome: 'success' }, 'bob')
    expect(await told()).toEqual([13])
    await program.call('reviewDecision', { id: other, outcome: 'abandoned' }, 'alice')
    expect(await told()).toEqual([1])
  })

  test('of nothing is nothing; what is out of bounds is refused', async () => {
    const { call, refused } = await open()
    expect(await call('getWisdom')).toEqual({ wisdom: [], total_decisions: 0, categories_analyzed: 0 })
    for (const given of [{ category: '' }, { min_decisions: 0 }, { min_decisions: 1.5 }, { min_decision: 1 }])
      expect([given, (await refused('getWisdom', given)).error]).toEqual([given, 'invalid_params'])
  })
})
