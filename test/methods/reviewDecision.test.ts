/** cstp.reviewDecision: outcomes, and what a second review keeps, on every store. */
import { expect, test } from 'bun:test'
import { forEachBackend } from '../support/program.ts'

forEachBackend((open) => {
  test('neither confidence nor outcome is raised afterwards: the score stays that of the record', async () => {
    const { call, record } = await open()
    for (let at = 0; at < 5; at++) {
      const id = await record({ confidence: 0.9 })
      await call('updateDecision', { id, updates: { confidence: 0 } })
      await call('reviewDecision', { id, outcome: 'failure' })
      await call('reviewDecision', { id, outcome: 'success' })
      await call('reviewDecision', { id, outcome: 'abandoned' })
    }
    const { overall, by_reviewer } = await call('getCalibration')
    expect(overall).toMatchObject({ scored: 5, brier_score: 0.81, accuracy: 0 })
    expect(by_reviewer).toMatchObject({ self: { scored: 5 }, others: { scored: 0 }, observed: { scored: 0 } })
  })

  test('a record that is full is reviewed by others all the same; what others may add besides is bounded', async () => {
    const { call, refused, record } = await open()
    const id = await record({ context: 'x'.repeat(100_000), reasons: [] })
    await call('updateDecision', { id, updates: { pattern: 'é'.repeat(10_000), context: 'é'.repeat(100_000) } })
    const long = { actual_result: 'x'.repeat(10_000), lessons: 'x'.repeat(10_000), notes: 'x'.repeat(10_000) }
    expect((await refused('reviewDecision', { id, outcome: 'success', ...long })).error).toBe('invalid_params')
    expect((await call('reviewDecision', { id, outcome: 'failure', ...long }, 'bob')).outcome).toBe('failure')
    const small = await record()
    await call('reviewDecision', { id: small, outcome: 'success' }, 'bob')
    const errors: unknown[] = []
    for (let at = 0; at < 4; at++)
      errors.push(
        await call('reviewDecision', { id: small, outcome: 'failure', ...long }, 'root').catch(({ error }) => error),
      )
    expect(errors.at(-1)).toBe('invalid_params')
    expect((await call('updateDecision', { id: small, updates: { context: 'still mine' } })).applied).toEqual([
      'context',
    ])
  })

  test('lessons are found by keyword, and the status by filters', async () => {
    const { call, record } = await open()
    const id = await record()
    await call('reviewDecision', { id, outcome: 'abandoned', lessons: 'beware of tachyons' })
    const { decisions } = await call('queryDecisions', {
      query: 'tachyon',
      retrieval_mode: 'keyword',
      filters: { has_outcome: true, status: ['reviewed'] },
    })
    expect(decisions).toMatchObject([{ id, status: 'reviewed', outcome: 'abandoned' }])
  })

  test('a review and an update at once lose neither', async () => {
    const one = await open()
    const two = await one.second()
    const id = await one.record()
    await Promise.all([
      one.call('reviewDecision', { id, outcome: 'success' }),
      two.call('updateDecision', { id, updates: { decision: 'Changed meanwhile' } }),
    ])
    expect(await one.call('getDecision', { id })).toMatchObject({ status: 'reviewed', title: 'Changed meanwhile' })
  })
})
