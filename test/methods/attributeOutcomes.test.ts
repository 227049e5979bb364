/** cstp.attributeOutcomes: outcomes by age where that is on; a dry run, the look-back, and what follows, on every store. */
import { expect, test } from 'bun:test'
import { canonical } from '../../src/core/canonical.ts'
import { appendEvents } from '../../src/domain/ledger/evidence/chain.ts'
import { forEachBackend, type TestProgram } from '../support/program.ts'
import { recordOf } from '../support/record.ts'

const day = 86_400_000
const name = 'acme/app'

forEachBackend((open) => {
  const decided = (program: TestProgram, days: number, given: Record<string, unknown> = {}) => {
    const created_at = new Date(program.clock.now - days * day).toISOString()
    return program.record({ created_at, project: { name, pr: 7 }, ...given }, 'root')
  }

  test('what has stood long enough succeeded; the rest waits', async () => {
    const program = await open()
    program.services.attribution.by_age = true
    const [old, exact, young] = [await decided(program, 20), await decided(program, 7), await decided(program, 6.99)]
    await decided(program, 20, { project: { name } })
    await decided(program, 20, { project: { name: 'other', pr: 7 } })
    const found = await program.call('attributeOutcomes', { project: name })
    expect(found).toEqual({
      processed: 3,
      attributed: 2,
      skipped: 1,
      dry_run: false,
      decisions: [
        { id: old, pr: 7, outcome: 'success', basis: 'age', reason: expect.any(String), applied: true },
        { id: exact, pr: 7, outcome: 'success', basis: 'age', reason: expect.any(String), applied: true },
        { id: young, pr: 7, outcome: null, basis: 'age', reason: expect.any(String), applied: false },
      ],
    })
    const { reason } = found.decisions[0]!
    expect(reason).toContain('No evidence was found for PR 7')
    expect(await program.call('getDecision', { id: old })).toMatchObject({
      status: 'reviewed',
      outcome: 'success',
      auto_attributed: true,
      attribution_basis: 'age',
      attribution_reason: reason,
      confidence_at_review: 0.8,
      reviewed_by: 'alice',
      review_history: [{ outcome: 'success', notes: reason }],
    })
    expect(await program.call('attributeOutcomes', { project: name })).toMatchObject({ processed: 1, attributed: 0 })
  })

  test('a dry run tells an agent nothing of the decisions of others before they are settled', async () => {
    const program = await open()
    program.services.attribution.by_age = true
    const others = await decided(program, 20)
    const own = await program.record({ project: { name, pr: 8 } })
    program.clock.now += 20 * day
    const told = async (dry_run: boolean, as: 'alice' | 'curator') =>
      (await program.call('attributeOutcomes', { project: name, since: '90d', dry_run }, as)).decisions.map(
        ({ id }) => id,
      )
    expect(await told(true, 'alice')).toEqual([own])
    expect(await told(true, 'curator')).toEqual([others, own])
    expect(await told(false, 'alice')).toEqual([others, own])
  })

  test('the look-back is a number of days or a date; stability is in days', async () => {
    const program = await open()
    program.services.attribution.by_age = true
    for (const days of [5, 40, 100]) await decided(program, days)
    const processed = async (given: object) =>
      (await program.call('attributeOutcomes', { project: name, dry_run: true, ...given }, 'root')).processed
    expect(await processed({})).toBe(1)
    expect(await processed({ since: '50d' })).toBe(2)
    expect(await processed({ since: '2026-01-01' })).toBe(3)
    expect(await processed({ since: '2026-06-26T12:00:00Z' })).toBe(1)
    const attributed = async (stability_days: number) =>
      (await program.call('attributeOutcomes', { project: name, since: '365d', dry_run: true, stability_days }, 'root'))
        .attributed
    expect([await attributed(0), await attributed(41), await attributed(101)]).toEqual([3, 1, 0])
    for (const given of [
      { since: 'lately' },
      { since: '0d' },
      { since: '2026-02-31' },
      { stability_days: -1 },
      { project: '' },
    ])
      expect((await program.refused('attributeOutcomes', { project: name, ...given })).error).toBe('invalid_params')
  })

  const observe = (program: TestProgram, pr: number, told: [event_type: string, at_ms: number][]) =>
    appendEvents(
      program.services.evidence,
      told.map(([event_type, at_ms]) => ({
        ts: new Date(at_ms).toISOString(),
        source: 'github',
        event_type,
        evidence_class: 'observed' as const,
        payload: canonical({ pr_number: pr, repo: name }),
      })),
    )
  const breaker =
    'circuit_breakers: [{ scope: "category:architecture", failure_threshold: 1, window_ms: 8640000000, cooldown_ms: 864000000 }]'

  test('by default age settles nothing', async () => {
    const program = await open()
    await decided(program, 300)
    expect(await program.call('attributeOutcomes', { project: name, since: '365d' })).toMatchObject({
      processed: 1,
      attributed: 0,
      decisions: [{ outcome: null, basis: 'age', applied: false }],
    })
  })

  test('what age settled enters no score and closes no breaker; evidence and agents correct it', async () => {
    const program = await open()
    program.services.attribution.by_age = true
    await program.rules(breaker)
    await program.call('reviewDecision', { id: await program.record(), outcome: 'failure' })
    program.clock.now += 11 * day
    const probe = await program.record({ project: { name, pr: 7 } })
    program.clock.now += 8 * day
    await program.call('attributeOutcomes', { project: name })
    expect(await program.call('getDecision', { id: probe })).toMatchObject({ attribution_basis: 'age' })
    expect(await program.call('getCircuitState', { scope: 'category:architecture' })).toMatchObject({
      state: 'half_open',
      probe_decision_id: probe,
    })
    expect((await program.call('getCalibration')).overall.scored).toBe(1)
    await program.call('reviewDecision', { id: probe, outcome: 'failure' }, 'bob')
    expect(await program.call('getDecision', { id: probe })).toMatchObject({
      outcome: 'failure',
      auto_attributed: false,
      attribution_basis: null,
      attribution_reason: null,
    })
  })

  test('evidence closes a breaker whose probe its recorder praised in vain', async () => {
    const program = await open()
    await program.rules(breaker)
    await program.call('reviewDecision', { id: await program.record(), outcome: 'failure' })
    program.clock.now += 11 * day
    const probe = await program.record({ project: { name, pr: 7 } })
    await program.call('reviewDecision', { id: probe, outcome: 'success' })
    const state = async () => (await program.call('getCircuitState', { scope: 'category:architecture' })).state
    expect(await state()).toBe('half_open')
    await observe(program, 7, [['pr_merged', program.clock.now + day]])
    program.clock.now += 9 * day
    expect(await program.call('attributeOutcomes', { project: name })).toMatchObject({ processed: 1, attributed: 1 })
    expect(await state()).toBe('closed')
    const filters = { has_outcome: true }
    const { decisions } = await program.call('queryDecisions', { query: 'SQLite', filters })
    expect(decisions.map(({ id }) => id)).toContain(probe)
  })

  test('a late revert replaces the outcome that was attributed, and nothing brings it back', async () => {
    const program = await open()
    const id = await program.record({ project: { name, pr: 7 } })
    await observe(program, 7, [['pr_merged', program.clock.now + day]])
    program.clock.now += 8 * day
    await program.call('attributeOutcomes', { project: name })
    expect((await program.call('getDecision', { id })).outcome).toBe('success')
    program.clock.now += 10 * day
    await observe(program, 7, [['pr_reverted', program.clock.now - day]])
    expect(await program.call('attributeOutcomes', { project: name })).toMatchObject({
      processed: 1,
      decisions: [{ id, outcome: 'failure', basis: 'evidence', applied: true }],
    })
    await program.call('reviewDecision', { id, outcome: 'success' })
    expect(await program.call('attributeOutcomes', { project: name, stability_days: 3 })).toMatchObject({
      processed: 0,
    })
    const { outcome, review_history } = await program.call('getDecision', { id })
    expect(outcome).toBe('failure')
    expect(review_history.map((one) => [one.outcome, one.basis, one.counts])).toEqual([
      ['success', 'evidence', false],
      ['failure', 'evidence', true],
      ['success', null, false],
    ])
  })

  test('a merge before the decision was recorded counts for nothing', async () => {
    const program = await open()
    await observe(program, 7, [['pr_merged', program.clock.now - 1]])
    const id = await program.record({ project: { name, pr: 7 } })
    program.clock.now += 20 * day
    expect((await program.call('attributeOutcomes', { project: name })).decisions).toMatchObject([
      { id, outcome: null, basis: 'evidence', applied: false },
    ])
  })

  test('a merge before its recorder named the pull request counts for nothing, however late its evidence is', async () => {
    const program = await open()
    const [late, early, linked] = [
      await program.record({ project: { name } }),
      await program.record({ project: { name } }),
      await program.record({ project: { name } }),
    ]
    const naming = (id: string, pr: number) => program.call('updateDecision', { id, updates: { project: { pr } } })
    await naming(early, 8)
    program.clock.now += day
    const merged = program.clock.now
    program.clock.now += 1_000
    await naming(late, 7)
    // Later changes beside it are not its naming.
    await program.call('updateDecision', { id: early, updates: { project: { feature: 'shop' } } })
    await program.call('updateDecision', { id: late, updates: { project: { feature: 'shop' } } })
    program.clock.now += day
    for (const pr of [7, 8, 9]) await observe(program, pr, [['pr_merged', merged]])
    await program.call('linkEvidence', { decision_id: linked, event_seqs: [3] }, 'root')
    program.clock.now += 20 * day
    const { decisions } = await program.call('attributeOutcomes', { project: name })
    expect(Object.fromEntries(decisions.map(({ id, outcome }) => [id, outcome]))).toEqual({
      [late]: null,
      [early]: 'success',
      [linked]: 'success',
    })
    expect(decisions.find(({ id }) => id === late)!.reason).toBe('PR 7 was merged before its decision named it')
  })

  test('only an administrator goes below the minimum of stability', async () => {
    const program = await open()
    const id = await program.record({ project: { name, pr: 7 } })
    await observe(program, 7, [['pr_merged', program.clock.now + 1]])
    program.clock.now += 2 * day
    expect(await program.refused('attributeOutcomes', { project: name, stability_days: 2 })).toMatchObject({
      code: -32602,
      data: { issues: [{ path: 'stability_days' }] },
    })
    expect(await program.call('attributeOutcomes', { project: name, stability_days: 3 })).toMatchObject({
      attributed: 0,
    })
    program.services.attribution.min_stability_days = 10
    expect((await program.call('attributeOutcomes', { project: name })).decisions[0]!.reason).toContain('10 days')
    expect(
      (await program.call('attributeOutcomes', { project: name, stability_days: 1 }, 'root')).decisions,
    ).toMatchObject([{ id, outcome: 'success', applied: true }])
  })

  test('a decision that evidence was linked to is settled by the pull request of that evidence', async () => {
    const program = await open()
    const id = await program.record()
    const other = await program.record({ project: { name: 'acme/other' } })
    await observe(program, 8, [
      ['pr_opened', program.clock.now],
      ['pr_merged', program.clock.now + day],
    ])
    await program.call('linkEvidence', { decision_id: id, event_seqs: [1, 2] }, 'root')
    await program.call('linkEvidence', { decision_id: other, event_seqs: [1, 2] }, 'root')
    program.clock.now += 9 * day
    expect((await program.call('attributeOutcomes', { project: name })).decisions).toMatchObject([
      { id, pr: 8, outcome: 'success', basis: 'evidence', applied: true },
    ])
    expect((await program.call('getDecision', { id: other })).project).toMatchObject({ name: 'acme/other', pr: null })
  })

  test('more than a page is settled without a gap, in any mixture, and many of one instant too', async () => {
    const program = await open()
    program.services.attribution.by_age = true
    const drafts = Array.from({ length: 450 }, (_, at) => ({
      days: at < 300 ? 20 : at % 3 === 0 ? 6 : 21,
      project: { name, pr: at % 5 === 4 ? null : 7 },
    }))
    await program.store.transaction(async (tx) => {
      for (const [at, { days, project }] of drafts.entries()) {
        const created_at = new Date(program.clock.now - days * day).toISOString()
        const id = `${created_at.slice(0, 10)}-decision-${at.toString(16).padStart(12, '0')}`
        await tx.decisions.put(recordOf({ id, created_at, project: { ...project, feature: null, files: [] } }), 0)
      }
    })
    const withPr = drafts.filter(({ project }) => project.pr !== null)
    const old = withPr.filter(({ days }) => days > 7)
    const expected = { processed: withPr.length, attributed: old.length, skipped: withPr.length - old.length }
    const dry = await program.call('attributeOutcomes', { project: name, dry_run: true }, 'root')
    expect(dry).toMatchObject(expected)
    const found = await program.call('attributeOutcomes', { project: name })
    expect(found).toMatchObject(expected)
    expect(found.decisions.map(({ id }) => id)).toEqual(dry.decisions.map(({ id }) => id))
    expect(new Set(found.decisions.map(({ id }) => id)).size).toBe(withPr.length)
    expect(found.decisions.filter(({ applied }) => applied).length).toBe(old.length)
  })

  test('each outcome is in the audit trail with what it rests on, and contradictions are looked for', async () => {
    const program = await open()
    program.services.attribution.by_age = true
    const bridge = { structure: 'a queue', function: 'to keep orders when the shop is down' }
    const failed = await program.record({ decision: 'Queue orders in a table', bridge, project: { name } })
    await program.call('reviewDecision', { id: failed, outcome: 'failure' })
    const id = await decided(program, 20, { bridge })
    const { decisions } = await program.call('attributeOutcomes', { project: name })
    const { entries } = await program.call('listAudit', {}, 'root')
    expect(entries.filter(({ method }) => method === 'cstp.attributeOutcomes')).toMatchObject([
      { ids: [id], agent: 'alice', detail: { outcome: 'success', basis: 'age', reason: decisions[0]!.reason } },
    ])
    expect((await program.call('getSessionContext')).contradictions).toMatchObject([
      { first_id: id, second_id: failed },
    ])
  })

  test('two servers at once settle each decision once', async () => {
    const one = await open()
    const two = await one.second()
    for (const { services } of [one, two]) services.attribution.by_age = true
    for (let at = 0; at < 6; at++) await decided(one, 20)
    const found = await Promise.all([one, two].map((program) => program.call('attributeOutcomes', { project: name })))
    const applied = found.flatMap(({ decisions }) => decisions.filter((each) => each.applied).map(({ id }) => id))
    expect(applied.length).toBe(6)
    expect(new Set(applied).size).toBe(6)
  })
})
