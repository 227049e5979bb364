/** cstp.reviewDecision: outcomes, and what a second review keeps, on every store. */
import { expect, test } from 'bun:test'
import { type As, forEachBackend } from '../support/program.ts'

forEachBackend((open) => {
  test('records the outcome', async () => {
    const { call, record, clock } = await open()
    const id = await record({ confidence: 0.7 })
    clock.now += 86_400_000
    const review = { outcome: 'partial', actual_result: 'half of it', lessons: 'ask sooner', notes: 'n' }
    const path = `decisions/2026/07/${id}.yaml`
    const reviewed_at = '2026-07-02T12:00:00.000Z'
    expect(await call('reviewDecision', { decision_id: id.slice(-12, -4), ...review }, 'bob')).toEqual({
      success: true,
      decision_id: id,
      record_id: `${id}@2`,
      path,
      status: 'reviewed',
      outcome: 'partial',
      reviewed_at,
      indexed: true,
    })
    expect(await call('getDecision', { id })).toMatchObject({
      status: 'reviewed',
      outcome: 'partial',
      actual_result: 'half of it',
      lessons: 'ask sooner',
      review_notes: 'n',
      reviewed_at,
      reviewed_by: 'bob',
      updated_at: reviewed_at,
      confidence_at_review: 0.7,
      auto_attributed: false,
      review_history: [{ ...review, reviewed_at, reviewed_by: 'bob' }],
    })
  })

  test('a second one keeps what it does not give, and both stand in the history', async () => {
    const { call, record } = await open()
    const id = await record()
    await call('reviewDecision', { id, outcome: 'failure', actual_result: 'broke', lessons: 'test', notes: 'n' })
    await call('reviewDecision', { id, outcome: 'success', lessons: 'test more' }, 'bob')
    const found = await call('getDecision', { id })
    expect(found).toMatchObject({
      outcome: 'success',
      actual_result: 'broke',
      lessons: 'test more',
      review_notes: 'n',
      reviewed_by: 'bob',
    })
    expect(found.review_history.map(({ outcome, reviewed_by }) => [outcome, reviewed_by])).toEqual([
      ['failure', 'alice'],
      ['success', 'bob'],
    ])
  })

  test('the first review by others counts, and the recorder never replaces it', async () => {
    const { call, record } = await open()
    const id = await record({ confidence: 0.9 })
    const now = async () => {
      const { outcome, self_reviewed, review_history } = await call('getDecision', { id })
      return [outcome, self_reviewed, review_history.map(({ counts }) => counts)]
    }
    const review = (outcome: string, as: As) => call('reviewDecision', { id, outcome }, as)
    await review('failure', 'alice')
    await review('success', 'alice')
    expect(await now()).toEqual(['failure', true, [true, false]])
    await review('partial', 'bob')
    expect(await now()).toEqual(['partial', false, [false, false, true]])
    await review('success', 'alice')
    await review('success', 'root')
    expect(await now()).toEqual(['partial', false, [false, false, true, false, false]])
  })

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

  test.each<[string, object, string]>([
    ['no outcome', {}, 'outcome'],
    ['an unknown outcome', { outcome: 'ok' }, 'outcome'],
    ['no id', { id: undefined, outcome: 'success' }, 'decision_id'],
    ['long lessons', { outcome: 'success', lessons: 'x'.repeat(10_001) }, 'lessons'],
    ['an unknown parameter', { outcome: 'success', lesson: 'x' }, 'lesson'],
  ])('%s is refused', async (_, given, path) => {
    const { refused, record } = await open()
    const id = await record()
    expect(await refused('reviewDecision', { id, ...given })).toMatchObject({
      error: 'invalid_params',
      data: { issues: [{ path }] },
    })
  })

  test('ten at once on two servers all stand in the history', async () => {
    const one = await open()
    const two = await one.second()
    const id = await one.record()
    const review = (index: number) =>
      (index % 2 ? one : two).call('reviewDecision', { id, outcome: 'success', notes: `${index}` })
    await Promise.all(Array.from({ length: 10 }, (_, index) => review(index)))
    const { review_history } = await one.call('getDecision', { id })
    expect(review_history.map(({ notes }) => Number(notes)).sort((a, b) => a - b)).toEqual([
      0, 1, 2, 3, 4, 5, 6, 7, 8, 9,
    ])
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

  test('is audited', async () => {
    const { call, record, store } = await open()
    const id = await record()
    await call('reviewDecision', { id, outcome: 'success' }, 'bob')
    expect((await store.audit.list({ limit: 1 }))[0]).toMatchObject({
      agent: 'bob',
      method: 'cstp.reviewDecision',
      ids: [id],
    })
  })
})
