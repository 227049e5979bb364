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
    // There is room left for a curator's correction.
    const corrected = await call('updateDecision', { id: small, updates: { context: 'still fits' } }, 'curator')
    expect(corrected.applied).toEqual(['context'])
  })

  test('the answer says what counts: a lesson is added after evidence settled, and only a curator with a reason corrects it', async () => {
    const { call, record, clock } = await open()
    const id = await record({ project: { name: 'acme/app', pr: 7 }, confidence: 0.9 })
    const ts = new Date(clock.now + 1_000).toISOString()
    const event = { event_type: 'pr_merged', ts, payload: { repo: 'acme/app', pr_number: 7 } }
    await call('ingestEvidence', { source: 'github', events: [event] }, 'root')
    clock.now += 8 * 86_400_000
    const review = (outcome: string, more: object, as: 'alice' | 'bob' | 'curator') =>
      call('reviewDecision', { id, outcome, ...more }, as)
    expect(await review('failure', { actual_result: 'It broke in practice' }, 'bob')).toMatchObject({ counts: true })
    await call('attributeOutcomes', { project: 'acme/app' })
    const settled = { outcome: 'success', settled_by: 'evidence', counted_by: 'alice' }
    expect(await review('failure', { lessons: 'Ask first' }, 'bob')).toMatchObject({ counts: false, ...settled })
    expect(await review('failure', {}, 'curator')).toMatchObject({ counts: false, ...settled })
    const found = await call('getDecision', { id })
    expect(found).toMatchObject({ outcome: 'success', lessons: 'Ask first', actual_result: 'It broke in practice' })
    const { decisions } = await call('queryDecisions', { query: 'SQLite catalogue' })
    expect(decisions).toMatchObject([{ id, settled_by: 'evidence' }])
    const right = await review('failure', { notes: 'The merge was reverted by hand' }, 'curator')
    expect(right).toMatchObject({ counts: true, outcome: 'failure', settled_by: 'others' })
    expect((await call('getCalibration')).by_reviewer).toMatchObject({ others: { scored: 1 }, observed: { scored: 0 } })
    expect(await call('attributeOutcomes', { project: 'acme/app' })).toMatchObject({ processed: 0 })
    expect((await call('getDecision', { id })).review_history.map((one) => [one.reviewed_by, one.counts])).toEqual([
      ['bob', false],
      ['alice', false],
      ['bob', false],
      ['curator', false],
      ['curator', true],
    ])
  })

  test('two failures of one agent stop nobody; when a curator takes back what opened a breaker, it closes', async () => {
    const { call, record, rules } = await open()
    await rules(
      'circuit_breakers: [{ scope: "agent:alice", failure_threshold: 2, window_ms: 86400000, cooldown_ms: 3600000 }]',
    )
    const state = async () => (await call('getCircuitState', { scope: 'agent:alice' })).state
    const [one, two] = [await record(), await record()]
    for (const id of [one, two]) await call('reviewDecision', { id, outcome: 'failure' }, 'bob')
    expect(await state()).toBe('closed')
    await call('reviewDecision', { id: two, outcome: 'failure', notes: 'I saw it' }, 'curator')
    expect(await state()).toBe('open')
    await call('reviewDecision', { id: one, outcome: 'success', notes: 'It holds' }, 'curator')
    expect(await state()).toBe('closed')
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

  test('the history of a repository settles only its own decisions, for an administrator, and enters no score', async () => {
    const { call, refused, record } = await open()
    const own = await record({ confidence: 0.9 })
    const basis = { basis: 'evidence', outcome: 'success' }
    expect(await refused('reviewDecision', { id: own, ...basis })).toMatchObject({ error: 'forbidden' })
    expect(await refused('reviewDecision', { id: own, ...basis }, 'root')).toMatchObject({
      error: 'invalid_params',
      data: { issues: [{ path: 'basis' }] },
    })
    const imported = { decision: 'Use SQLite', category: null, source_key: `git:${'0a'.repeat(20)}` }
    const { decision_id: scored } = await call('recordDecision', { ...imported, confidence: 0.8 }, 'root')
    expect((await refused('reviewDecision', { id: scored, ...basis }, 'root')).error).toBe('invalid_params')
    const { decision_id: id } = await call(
      'recordDecision',
      { ...imported, confidence: null, source_key: `git:${'0b'.repeat(20)}` },
      'root',
    )
    expect(await call('getDecision', { id })).toMatchObject({ source: 'git', imported_by: 'root' })
    expect(await call('reviewDecision', { id, ...basis }, 'root')).toMatchObject({
      counts: true,
      settled_by: 'evidence',
    })
    expect(await call('reviewDecision', { id, outcome: 'failure' }, 'bob')).toMatchObject({ counts: false })
    expect(await call('reviewDecision', { id, ...basis, outcome: 'failure' }, 'root')).toMatchObject({ counts: true })
    // What failed once does not succeed later.
    expect(await call('reviewDecision', { id, ...basis }, 'root')).toMatchObject({ counts: false, outcome: 'failure' })
    expect((await call('getCalibration')).overall.scored).toBe(0)
  })
})
