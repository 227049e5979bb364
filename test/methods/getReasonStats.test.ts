/** cstp.getReasonStats: rates over reviewed decisions, filters and bounds, on every store. */
import { expect, test } from 'bun:test'
import { decided, decidedOften } from '../support/decided.ts'
import { forEachBackend } from '../support/program.ts'

forEachBackend((open) => {
  test('reasons: rates over reviewed decisions, and a stats input for the next record', async () => {
    const program = await open()
    const reasons = [
      { type: 'analysis', text: 'a', strength: 0.4 },
      { type: 'analysis', text: 'b', strength: 0.6 },
      { type: 'risk', text: 'c' },
    ]
    await decidedOften(program, 2, 1, { reasons }, 'success')
    await decidedOften(program, 2, 1, { reasons: [reasons[2]] }, 'failure')
    await decided(program, 1, { reasons: [{ type: 'pending', text: 'x' }] })
    expect(await program.call('getReasonStats', {})).toMatchObject({ success_rates: {}, insufficient_data: true })
    const stats = await program.call('getReasonStats', { min_reviewed: 4 })
    expect(stats).toMatchObject({
      success_rates: { analysis: 1, risk: 0.5 },
      dominant_type: 'analysis',
      diversity_score: 1,
      reviewed_decisions: 4,
      insufficient_data: false,
    })
    expect(stats.types).toMatchObject([
      { type: 'analysis', uses: 4, scored: 2, mean_strength: 0.5 },
      { type: 'risk', uses: 4, scored: 4, mean_strength: 0.8 },
    ])
    const { deliberation } = await program.call('getDecision', { id: await program.record() })
    expect(deliberation?.inputs.map(({ type }) => type)).toEqual(['reason_stats', 'reason_stats'])
  })
})
