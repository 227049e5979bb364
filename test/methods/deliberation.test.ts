/** recordThought, debugTracker and what records take from the tracker, on every store. */
import { expect, test } from 'bun:test'
import { StorageError } from '../../sdk/storage/errors.ts'
import { forEachBackend, type TestProgram } from '../support/program.ts'

const minute = 60_000
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

  test('query, check, statistics, lookup and thought end in the next record, in their order', async () => {
    const program = await open()
    await program.rules(guarded)
    const old = await program.record({ decision: 'Keep the catalogue in SQLite' })
    const started = program.clock.now
    await program.call('queryDecisions', { query: 'where to keep the catalogue' })
    await program.call('checkGuardrails', { action: { description: 'Keep it in SQLite' } })
    await program.call('getReasonStats')
    await program.call('getDecision', { id: old })
    expect(await think(program, 'One file is enough')).toEqual({
      success: true,
      mode: 'pre-decision',
      agent_id: 'alice',
      decision_id: null,
      step_number: null,
    })
    const result = await program.call('recordDecision', record)
    expect(result).toMatchObject({
      deliberation_auto: true,
      deliberation_inputs_count: 4,
      related_count: 1,
      guardrail_warnings: [],
    })
    const { deliberation, related_to, links, pre_decision_protocol } = await program.call('getDecision', {
      id: result.decision_id,
    })
    const timestamp = new Date(started).toISOString()
    expect(deliberation!.inputs).toMatchObject([
      { type: 'query', content: 'where to keep the catalogue', source: 'cstp.queryDecisions', timestamp },
      { type: 'guardrail_check', content: 'Keep it in SQLite: allowed', source: 'cstp.checkGuardrails' },
      { type: 'reason_stats', source: 'cstp.getReasonStats' },
      { type: 'lookup', content: `Looked at ${old}`, source: 'cstp.getDecision' },
    ])
    expect(deliberation!.steps.map(({ step, type }) => [step, type])).toEqual([
      [1, 'query'],
      [2, 'guardrail_check'],
      [3, 'reason_stats'],
      [4, 'lookup'],
      [5, 'reasoning'],
    ])
    expect(deliberation!.steps[4]!.thought).toBe('One file is enough')
    expect(pre_decision_protocol).toEqual({ query_run: true, guardrails_checked: true })
    const { distance } = related_to[0]!
    expect(related_to).toEqual([{ id: old, summary: 'Keep the catalogue in SQLite', distance }])
    expect(links).toMatchObject([
      { target_id: old, edge_type: 'relates_to', weight: 1 - distance! / 2, created_by: 'auto-link' },
    ])
    expect((await program.call('getNeighbors', { decision_id: old })).neighbors).toMatchObject([
      { id: result.decision_id, direction: 'incoming', edge_type: 'relates_to' },
    ])
    // getDecision above was tracked in its turn: a look at one's own record is an input of the next.
    expect((await program.call('recordDecision', record)).deliberation_inputs_count).toBe(1)
    expect(await program.call('recordDecision', record)).toMatchObject({
      deliberation_auto: false,
      deliberation_inputs_count: 0,
    })
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

  test('agents, their sub-agents and scopes are told apart; a record takes its own key alone', async () => {
    const program = await open()
    await think(program, 'alice')
    await think(program, 'helper', { agent_id: 'helper' })
    await think(program, 'scoped', { tracker_scope: 'task-1' })
    await think(program, 'both', { agent_id: 'helper', tracker_scope: 'task-1' })
    await program.call('recordThought', { text: 'bob' }, 'bob')
    // A name that another agent gives is not that agent.
    await program.call('recordThought', { text: 'not alice', agent_id: 'alice' }, 'bob')
    const taken = async (given: Record<string, unknown>, as?: 'bob') =>
      stepsOf(program, await program.record(given, as))
    expect(await taken({})).toEqual(['alice'])
    expect(await taken({ decision_id: 'task-1' })).toEqual(['scoped'])
    expect(await taken({ agent_id: 'helper' })).toEqual(['helper'])
    expect(await taken({ agent_id: 'helper', decision_id: 'task-1' })).toEqual(['both'])
    expect(await taken({}, 'bob')).toEqual(['bob'])
    expect(await taken({ agent_id: 'alice' }, 'bob')).toEqual(['not alice'])
    expect(await taken({ decision_id: 'task-2' })).toEqual([])
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
    expect((await program.refused('recordDecision', record)).error).toBe('record_failed')
    program.store.transaction = transaction
    expect((await sessions(program)).map(({ input_count }) => input_count)).toEqual([1])
    expect(await stepsOf(program, await program.record())).toEqual(['kept'])
  })

  test('a record that is sent again takes nothing more', async () => {
    const program = await open()
    await think(program, 'first')
    const first = await program.call('recordDecision', { ...record, idempotency_key: 'k' })
    await think(program, 'second')
    expect(await program.call('recordDecision', { ...record, idempotency_key: 'k' })).toEqual(first)
    expect(await stepsOf(program, await program.record())).toEqual(['second'])
  })

  test('two servers on the same data share the sessions', async () => {
    const one = await open()
    const two = await one.second()
    await think(one, 'one')
    await think(two, 'two')
    await one.call('queryDecisions', { query: 'asked on one' })
    await one.services.tracker.flush()
    expect((await sessions(two))[0]).toMatchObject({ key: 'alice', input_count: 3 })
    expect(await stepsOf(two, await two.record())).toEqual(['one', 'two', 'asked on one'])
  })

  test('of records at once on two servers exactly one takes a thought', async () => {
    const one = await open()
    const two = await one.second()
    const taken: string[] = []
    for (let round = 0; round < 5; round++) {
      await Promise.all([think(one, `a${round}`), think(two, `b${round}`)])
      const ids = await Promise.all([one, two, one, two].map(({ record: make }) => make()))
      for (const id of ids) {
        const { record: found } = (await one.store.decisions.get(id))!
        taken.push(...(found.deliberation?.steps.map(({ thought }) => thought) ?? []))
      }
    }
    expect(taken.sort()).toEqual(['a0', 'a1', 'a2', 'a3', 'a4', 'b0', 'b1', 'b2', 'b3', 'b4'])
  })

  test('what reads leave behind is durable within 50 ms', async () => {
    const program = await open()
    await program.call('queryDecisions', { query: 'x' })
    expect(await program.store.sessions.get('alice')).toBe(null)
    await Bun.sleep(120)
    expect((await program.store.sessions.get('alice'))?.inputs.length).toBe(1)
  })

  test('a session ends when it has been idle for the time to live', async () => {
    const program = await open()
    await think(program, 'old')
    program.clock.now += 120 * minute
    await think(program, 'in time')
    program.clock.now += 120 * minute + 1
    expect(await sessions(program)).toEqual([])
    expect(await stepsOf(program, await program.record())).toEqual([])
    await program.record()
    await think(program, 'new')
    expect(await stepsOf(program, await program.record())).toEqual(['new'])
  })

  test('at most 200 inputs are kept, the newest, and the others are counted', async () => {
    const program = await open()
    for (let at = 0; at < 205; at++) await program.call('queryDecisions', { query: `q${at}` })
    const [session] = await sessions(program)
    expect(session).toMatchObject({ input_count: 200, dropped: 5 })
    expect([session!.inputs[0]!.text, session!.inputs.at(-1)!.text]).toEqual(['q5', 'q204'])
    expect((await program.call('recordDecision', record)).deliberation_inputs_count).toBe(200)
  })

  test('debugTracker shows own sessions, with admin all, and the last that were taken', async () => {
    const program = await open()
    await think(program, 'mine', { tracker_scope: 's' })
    await program.call('recordThought', { text: 'his' }, 'bob')
    const id = await program.record({ decision_id: 's' })
    await think(program, 'mine again')
    program.clock.now += 5_000
    expect(await program.call('debugTracker')).toEqual({
      sessions: [
        {
          key: 'alice',
          agent: 'alice',
          input_count: 1,
          dropped: 0,
          inputs: [
            {
              id: expect.any(String),
              type: 'thought',
              text: 'mine again',
              source: 'cstp.recordThought',
              age_seconds: 5,
            },
          ],
          idle_seconds: 5,
        },
      ],
      consumed: [{ key: 'alice|scope:s', agent: 'alice', decision_id: id, input_count: 1, age_seconds: 5 }],
    })
    expect((await sessions(program, 'bob')).map(({ agent }) => agent)).toEqual(['bob'])
    expect((await sessions(program, 'root')).map(({ agent }) => agent).sort()).toEqual(['alice', 'bob'])
  })

  test('after a decision thoughts are appended to it, by whoever thinks them', async () => {
    const program = await open()
    await think(program, 'before')
    const id = await program.record()
    const appended = await program.call('recordThought', { text: 'after', decision_id: id.slice(0, -2) }, 'bob')
    expect(appended).toEqual({
      success: true,
      mode: 'post-decision',
      agent_id: null,
      decision_id: id,
      step_number: 2,
    })
    const { deliberation } = await program.call('getDecision', { id })
    expect(deliberation!.steps[1]).toMatchObject({ step: 2, type: 'reasoning', thought: 'after', agent: 'bob' })
    expect(await stepsOf(program, await program.record({}, 'bob'))).toEqual([])
    const missing = '2026-07-01-decision-ffffffffffff'
    expect((await program.refused('recordThought', { text: 'x', decision_id: missing })).error).toBe(
      'decision_not_found',
    )
    for (const text of ['', ' ', 'x'.repeat(10_001), undefined])
      expect((await program.refused('recordThought', { text })).error).toBe('invalid_params')
  })

  test('ten thoughts at once on two servers are ten steps', async () => {
    const one = await open()
    const two = await one.second()
    const id = await one.record()
    const numbers = await Promise.all(
      Array.from({ length: 10 }, (_, at) =>
        (at % 2 ? one : two).call('recordThought', { text: `t${at}`, decision_id: id }),
      ),
    )
    expect(numbers.map(({ step_number }) => step_number!).sort((a, b) => a - b)).toEqual([
      1, 2, 3, 4, 5, 6, 7, 8, 9, 10,
    ])
    expect(new Set(await stepsOf(one, id)).size).toBe(10)
  })

  test('an import takes nothing of the one who imports', async () => {
    const program = await open()
    await program.call('recordThought', { text: 'mine' }, 'root')
    const id = await program.record({ created_at: '2020-01-01', recorded_by: 'carol' }, 'root')
    expect((await program.store.decisions.get(id))!.record.deliberation).toBe(null)
    expect((await sessions(program, 'root'))[0]).toMatchObject({ input_count: 1 })
  })
})
