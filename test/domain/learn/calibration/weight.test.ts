/** Decisions that the evidence of one pull request settles are one result: an agent gains nothing by recording many of them. */
import { expect, test } from 'bun:test'
import { canonical } from '../../../../src/core/canonical.ts'
import { appendEvents } from '../../../../src/domain/ledger/evidence/chain.ts'
import { forEachBackend, type TestProgram } from '../../../support/program.ts'

const day = 86_400_000
const name = 'acme/app'
const rules = `circuit_breakers: [{ scope: "category:architecture", failure_threshold: 2, window_ms: ${90 * day}, cooldown_ms: ${day} }]`

const observe = (program: TestProgram, pr: number, event_type: string, at_ms: number) =>
  appendEvents(program.services.evidence, [
    {
      ts: new Date(at_ms).toISOString(),
      source: 'github',
      event_type,
      evidence_class: 'observed',
      payload: canonical({ pr_number: pr, repo: name }),
    },
  ])

forEachBackend((open) => {
  test('one pull request weighs one in figures, verdict and breakers, however many decisions it settles', async () => {
    const program = await open()
    await program.rules(rules)
    const decide = (pr: number, confidence: number, as: 'alice' | 'bob' = 'alice') =>
      program.record({ project: { name, pr }, confidence, decision: `Decide ${pr} at ${confidence}` }, as)
    for (let at = 0; at < 12; at++) await decide(7, at % 2 === 0 ? 0.5 : 1)
    await decide(7, 0.9, 'bob')
    await decide(8, 0.9)
    for (const pr of [7, 8]) await observe(program, pr, 'pr_merged', program.clock.now + day)
    await observe(program, 7, 'pr_reverted', program.clock.now + 2 * day)
    program.clock.now += 20 * day
    expect(await program.call('attributeOutcomes', { project: name })).toMatchObject({ attributed: 14 })
    const alice = await program.call('getCalibration', { agent: 'alice' })
    expect(alice).toMatchObject({ total_decisions: 13, reviewed_decisions: 13, overall: { scored: 2 } })
    expect(alice.verdict.interpretation).toBe('insufficient_data')
    expect(alice.buckets.map(({ decisions, predicted }) => [decisions, predicted])).toEqual([
      [0, null],
      [0, null],
      [0.5, 0.5],
      [0, null],
      [1.5, 0.9333],
    ])
    // What others decide about the same pull request takes nothing from them.
    expect((await program.call('getCalibration', { agent: 'bob' })).overall.scored).toBe(1)
    expect((await program.call('getCalibration', { cells: 'agent_stakes' })).cells).toContainEqual(
      expect.objectContaining({ agent: 'bob', stakes: null, scored: 1 }),
    )
    // Of an earlier time too, though some of the decisions have changed since and others have not.
    const as_of = new Date(program.clock.now).toISOString()
    program.clock.now += day
    const figures = (of: object) =>
      Promise.all([
        program.call('getCalibration', { agent: 'alice', ...of }),
        program.call('getCalibration', { cells: 'agent_stakes', ...of }),
      ]).then(([one, all]) => [one.overall, one.buckets, all.cells])
    const before = await figures({})
    const ids = (await program.call('listDecisions', { project: name, order: 'asc' })).decisions.map(({ id }) => id)
    for (const id of [...ids.slice(0, 11), ids[13]!]) {
      await program.call('setPreserve', { decision_id: id, preserve: true }, 'root')
      expect(await figures({ as_of })).toEqual(before)
    }
    const scope = 'category:architecture'
    expect(await program.call('getCircuitState', { scope })).toMatchObject({ state: 'closed', failure_count: 1 })
  })
})
