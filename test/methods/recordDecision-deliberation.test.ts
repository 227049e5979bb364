/** What cstp.recordDecision takes from the tracker: queries, checks and thoughts before it, on every store. */

import { expect, test } from 'bun:test'
import { readDecision } from '../../sdk/storage/decisions.ts'
import { StorageError } from '../../sdk/storage/errors.ts'
import { getSession } from '../../src/domain/record/deliberation/sessions.ts'
import { forEachBackend, type TestProgram } from '../support/program.ts'

const guarded = `
- { id: no-query, action: warn, condition_phase: record, requires_has_query: true }
- { id: no-check, action: warn, condition_phase: record, requires_has_check: true }
- { id: no-thought, action: warn, condition_phase: record, requires_has_reasoning: true }
- { id: no-deliberation, action: warn, condition_phase: record, requires_has_deliberation: true }
`

forEachBackend((open) => {
  const think = (program: TestProgram, text: string, names: object = {}) =>
    program.call('recordThought', { text, ...names })
  const stepsOf = async ({ call }: TestProgram, id: string) =>
    (await call('getDecision', { id })).deliberation?.steps.map(({ thought }) => thought) ?? []
  const sessions = async ({ call }: TestProgram, as?: 'bob' | 'root') => (await call('debugTracker', {}, as)).sessions
  const record = { decision: 'Use SQLite', confidence: 0.8, category: 'architecture' }

  test('reading one’s own record back is no deliberation; another agent’s, or an old one, is', async () => {
    const program = await open()
    const [own, other] = [await program.record(), await program.record({}, 'bob')]
    await program.call('getDecision', { id: own })
    expect(await sessions(program)).toEqual([])
    const seen = async () => (await sessions(program)).flatMap((one) => one.inputs.map(({ text }) => text))
    await program.call('getDecision', { id: other })
    expect(await seen()).toEqual([`Looked at ${other}`])
    program.clock.now += 3 * 3_600_000
    await program.call('getDecision', { id: own })
    expect(await seen()).toEqual([`Looked at ${own}`])
  })

  test('a read with `track: false` leaves nothing behind', async () => {
    const program = await open()
    const id = await program.record({}, 'bob')
    for (const track of [false, true]) {
      await program.call('queryDecisions', { query: 'x', track })
      await program.call('getDecision', { id, track })
      await program.call('getReasonStats', { track })
      await program.call('checkGuardrails', { action: { description: 'x' }, track })
      await program.call('getSessionContext', { task_description: 'x', track })
      expect((await sessions(program)).map(({ input_count }) => input_count)).toEqual(track ? [4] : [])
    }
  })

  test('rules see what was not done before recording', async () => {
    const program = await open()
    await program.rules(guarded)
    const fired = async () =>
      (await program.call('recordDecision', record)).guardrail_warnings.map(({ guardrail_id }) => guardrail_id)
    expect(await fired()).toEqual(['no-query', 'no-check', 'no-thought', 'no-deliberation'])
    await program.call('queryDecisions', { query: 'x' })
    expect(await fired()).toEqual(['no-check', 'no-thought'])
    await think(program, 'x')
    expect(await fired()).toEqual(['no-query', 'no-check'])
    await program.call('queryDecisions', { query: 'x' })
    await program.rules('- { id: q, action: warn, condition_phase: check, requires_has_query: true }')
    const check = () => program.call('checkGuardrails', { action: { description: 'd' } })
    expect((await check()).warnings).toEqual([])
    await program.record()
    expect((await check()).warnings.map(({ guardrail_id }) => guardrail_id)).toEqual(['q'])
  })

  test('preAction takes what it asked itself, and what was thought before', async () => {
    const program = await open()
    await think(program, 'first')
    const action = { description: 'Cache it', category: 'architecture', confidence: 0.8 }
    const { decision_id } = await program.call('preAction', { action })
    const { deliberation } = await program.call('getDecision', { id: decision_id! })
    expect(deliberation!.steps.map(({ type }) => type)).toEqual(['reasoning', 'query', 'guardrail_check'])
    await program.record()
    await program.call('preAction', { action, options: { auto_record: false } })
    expect((await sessions(program))[0]).toMatchObject({ input_count: 2 })
  })

  test('a record that fails takes nothing: blocked, invalid, or the store fails', async () => {
    const program = await open()
    program.services.record_guardrails = 'block'
    await program.rules('- { id: no, message: no, condition_phase: record, condition_stakes: critical }')
    await think(program, 'kept')
    expect((await program.refused('recordDecision', { ...record, stakes: 'critical' })).error).toBe('record_failed')
    expect((await program.refused('recordDecision', { ...record, confidence: 2 })).error).toBe('invalid_params')
    const { transaction } = program.store
    program.store.transaction = (work) =>
      transaction(async (tx) => {
        await work(tx)
        throw new StorageError('unavailable', 'the disk is full')
      })
    expect((await program.refused('recordDecision', record)).error).toBe('unavailable')
    program.store.transaction = transaction
    expect((await sessions(program)).map(({ input_count }) => input_count)).toEqual([1])
    expect(await stepsOf(program, await program.record())).toEqual(['kept'])
  })

  test('a record that is sent again takes nothing more', async () => {
    const program = await open()
    await think(program, 'first')
    const first = await program.call('recordDecision', { ...record, idempotency_key: 'k' })
    await think(program, 'second')
    expect(await program.call('recordDecision', { ...record, idempotency_key: 'k' })).toEqual({
      ...first,
      replayed: true,
      present: expect.objectContaining({ allowed: true }),
    })
    expect(await stepsOf(program, await program.record())).toEqual(['second'])
  })

  test('what reads leave behind is written without another call', async () => {
    const program = await open()
    await program.call('queryDecisions', { query: 'x' })
    let session = null
    while (session === null) {
      await Bun.sleep(1)
      session = await getSession(program.store, 'alice')
    }
    expect(session.inputs.length).toBe(1)
  })

  test('an import takes nothing of the one who imports', async () => {
    const program = await open()
    await program.call('recordThought', { text: 'mine' }, 'root')
    const id = await program.record({ created_at: '2020-01-01', recorded_by: 'carol' }, 'root')
    expect((await readDecision(program.store.decisions, id))!.record.deliberation).toBe(null)
    expect((await sessions(program, 'root'))[0]).toMatchObject({ input_count: 1 })
  })
})
