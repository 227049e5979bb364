/** cstp.getWisdom: what held in a category, how it fails, and what its confidence was worth, on every store. */
import { expect, test } from 'bun:test'
import { decidedByAlice as decided } from '../support/decided.ts'
import { forEachBackend } from '../support/program.ts'

forEachBackend((open) => {
  test('wisdom: what held in a category, how it fails, and what its confidence was worth', async () => {
    const program = await open()
    for (let at = 0; at < 3; at++) await decided(program, 5, { pattern: 'cache reads', confidence: 0.9 })
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

  test('of nothing is nothing; what is out of bounds is refused', async () => {
    const { call, refused } = await open()
    expect(await call('getWisdom')).toEqual({ wisdom: [], total_decisions: 0, categories_analyzed: 0 })
    for (const given of [{ category: '' }, { min_decisions: 0 }, { min_decisions: 1.5 }, { min_decision: 1 }])
      expect([given, (await refused('getWisdom', given)).error]).toEqual([given, 'invalid_params'])
  })
})
