/** cstp.ready: every type, priorities, order, totals, and contradictions, on every store. */
import { expect, test } from 'bun:test'
import { StorageError } from '../../sdk/storage/errors.ts'
import { forEachBackend, type TestProgram } from '../support/program.ts'

const day = 86_400_000

forEachBackend((open) => {
  const decided = (program: TestProgram, days: number, given: Record<string, unknown> = {}) => {
    const created_at = new Date(program.clock.now - days * day).toISOString()
    return program.record({ created_at, recorded_by: 'alice', ...given }, 'root')
  }
  const shown = async ({ call }: TestProgram, params: object = {}) =>
    (await call('ready', params)).actions.map(({ type, priority }) => `${type} ${priority}`)

  test('a review is due when its day has passed, and not before', async () => {
    const program = await open()
    const id = await program.record({ review_in: '3d', stakes: 'high' })
    program.clock.now = Date.parse('2026-07-04T23:59:59.999Z')
    expect(await shown(program)).toEqual([])
    program.clock.now += 1
    expect((await program.call('ready')).actions).toEqual([
      {
        type: 'review_outcome',
        priority: 'high',
        decision_id: id,
        category: 'architecture',
        date: '2026-07-01',
        title: 'Use SQLite',
        reason: 'Its review was due on 2026-07-04',
        suggestion: expect.any(String),
        detail: { stakes: 'high', review_by: '2026-07-04', age_days: 3, recorded_by: 'alice' },
      },
    ])
    await program.call('reviewDecision', { id, outcome: 'success' })
    expect(await shown(program)).toEqual([])
  })

  test('the newest first, by page, with what is so now before all; counted by type', async () => {
    const program = await open()
    await program.rules(`
circuit_breakers: [{ scope: "category:deploy", failure_threshold: 1, window_ms: 3600000, cooldown_ms: 3600000 }]`)
    const failed = await program.record({ category: 'deploy' })
    await program.call('reviewDecision', { id: failed, outcome: 'failure' }, 'bob')
    for (const days of [61, 9, 29, 40]) await decided(program, days, { stakes: days === 9 ? 'low' : 'critical' })
    const page = async (offset: number, more: object = {}) => {
      const { actions, ...rest } = await program.call('ready', { order: 'newest', offset, limit: 2, ...more })
      return [...actions.map(({ type, detail }) => [type, detail.age_days ?? null]), rest]
    }
    const counts = { total: 5, by_type: { open_breaker: 1, review_outcome: 2, stale_pending: 2 }, warnings: [] }
    expect(await page(0)).toEqual([['open_breaker', null], ['review_outcome', 9], { ...counts, filtered: 3 }])
    expect(await page(2)).toEqual([['review_outcome', 29], ['stale_pending', 40], { ...counts, filtered: 3 }])
    expect(await page(4)).toEqual([['stale_pending', 61], { ...counts, filtered: 4 }])
    expect(await page(1, { action_types: ['stale_pending'] })).toEqual([
      ['stale_pending', 61],
      { ...counts, filtered: 4 },
    ])
    const urgent = await program.call('ready', { offset: 1, limit: 2 })
    expect(urgent.actions.map(({ type, detail }) => [type, detail.age_days])).toEqual([
      ['stale_pending', 61],
      ['stale_pending', 40],
    ])
  })

  test('priorities follow stakes and age; the most urgent first, then the oldest', async () => {
    const program = await open()
    for (const [days, stakes] of [
      [61, 'low'],
      [59, 'medium'],
      [31, 'critical'],
      [29, 'critical'],
      [29, 'medium'],
      [29, 'low'],
    ] as const)
      await decided(program, days, { stakes })
    await decided(program, 90, { review_in: '52w', stakes: 'low' })
    await decided(program, 5, { review_in: '7d' })
    expect(await shown(program)).toEqual([
      'stale_pending high',
      'stale_pending high',
      'stale_pending high',
      'review_outcome high',
      'stale_pending medium',
      'review_outcome medium',
      'review_outcome low',
    ])
    const dates = (await program.call('ready')).actions.slice(0, 4).map(({ date }) => date!)
    expect(dates).toEqual([...dates].sort())
  })

  test('thirty and sixty days themselves are within, and no decision is reported twice', async () => {
    for (const [days, expected] of [
      [30 - 1e-6, 'review_outcome low'],
      [30, 'stale_pending medium'],
      [60 - 1e-6, 'stale_pending medium'],
      [60, 'stale_pending high'],
    ] as const) {
      const program = await open()
      await decided(program, days, { stakes: 'low' })
      expect(await shown(program)).toEqual([expected])
      expect((await program.call('ready')).total).toBe(1)
    }
  })

  test('of one day the review comes before what is stale, also where the limit cuts', async () => {
    const program = await open()
    await decided(program, 30)
    await decided(program, 30 - 1 / 24)
    expect(await shown(program, { limit: 1 })).toEqual(['review_outcome medium'])
  })

  test('types, priority, agent, category and limit restrict; totals tell how much was left out', async () => {
    const program = await open()
    for (let at = 0; at < 30; at++) await decided(program, 40)
    await decided(program, 20, { stakes: 'low' })
    await decided(program, 20, { stakes: 'high', category: 'trading', recorded_by: 'bob' })
    expect(await program.call('ready', { limit: 3 })).toMatchObject({ total: 32, filtered: 29 })
    // The one that waits for its review is not hidden by the many that are older.
    expect(await shown(program, { action_types: ['review_outcome'], limit: 2 })).toEqual([
      'review_outcome high',
      'review_outcome low',
    ])
    expect(await shown(program, { min_priority: 'high' })).toEqual(['review_outcome high'])
    expect(await program.call('ready', { min_priority: 'medium', limit: 200 })).toMatchObject({
      total: 32,
      filtered: 1,
    })
    expect(await program.call('ready', { agent: 'bob' })).toMatchObject({ total: 1, filtered: 0 })
    expect(await program.call('ready', { category: 'trading' })).toMatchObject({ total: 1, filtered: 0 })
    expect((await program.refused('ready', { action_types: ['sleep'] })).error).toBe('invalid_params')
  })

  test('drift of a category is reported with its figures, and only beyond chance', async () => {
    const program = await open()
    // Ten days: a number of decisions of each category a day, reviewed at once.
    const many = async (category: string, each: number, outcome: string) => {
      const start = program.clock.now
      for (let day = 0; day < 10; day++) {
        program.clock.now += 86_400_000
        for (let at = 0; at < each; at++)
          await program.call('reviewDecision', { id: await decided(program, 0, { category }), outcome })
      }
      return start
    }
    const both = async (first: string, second: string, third: string) => {
      program.clock.now = await many('trading', 6, first)
      program.clock.now = await many('calm', 6, second)
      await many('rare', 2, third)
    }
    await both('success', 'success', 'success')
    await both('failure', 'success', 'failure')
    const { actions } = await program.call('ready', { agent: 'alice' })
    expect(actions).toMatchObject([{ type: 'calibration_drift', priority: 'high', category: 'trading' }])
    expect(actions[0]!.reason).toContain('Accuracy went from 100 % to 0 %')
    expect(await shown(program, { category: 'calm' })).toEqual([])
    expect(await shown(program, { agent: 'bob' })).toEqual([])
  })

  test('an open breaker is reported until it closes, to the agents that it covers', async () => {
    const program = await open()
    await program.rules(
      'circuit_breakers: [{ scope: "agent:alice", failure_threshold: 1, window_ms: 86400000, cooldown_ms: 1000 }]',
    )
    await program.call('reviewDecision', { id: await program.record(), outcome: 'failure' })
    expect((await program.call('ready')).actions).toMatchObject([
      {
        type: 'open_breaker',
        priority: 'high',
        reason: 'The circuit breaker agent:alice is open: it blocks what it covers',
        decision_id: null,
      },
    ])
    expect(await shown(program, { agent: 'bob' })).toEqual([])
    expect(await shown(program, { category: 'trading' })).toEqual([])
    program.clock.now += 1_000
    expect((await program.call('ready')).actions).toMatchObject([
      {
        decision_id: null,
        reason: 'The circuit breaker agent:alice is half open: it lets one decision through as a trial',
      },
    ])
    const probe = await program.record()
    expect((await program.call('ready')).actions).toMatchObject([
      {
        decision_id: probe,
        reason: 'The circuit breaker agent:alice is half open: its trial waits for a review',
        suggestion: 'Have the trial reviewed: a success closes the breaker',
      },
    ])
    await program.call('reviewDecision', { id: probe, outcome: 'success' }, 'bob')
    expect(await shown(program)).toEqual([])
  })

  test('what cannot be read is a warning; the rest is reported', async () => {
    const program = await open()
    await decided(program, 40)
    program.store.keyed.get = async () => {
      throw new StorageError('unavailable', 'gone')
    }
    const { actions, warnings } = await program.call('ready')
    expect(warnings).toEqual(['Circuit breakers could not be read'])
    expect(actions.length).toBe(1)
  })

  test('the same purpose with opposite outcomes in one project is found at the review', async () => {
    const program = await open()
    const bridge = { structure: 'a queue', function: 'to keep orders when the shop is down' }
    const given = { bridge, project: { name: 'acme/shop' } }
    const [good, bad, elsewhere, other] = [
      await program.record({ ...given, decision: 'Queue orders in Redis' }),
      await program.record({ ...given, decision: 'Queue orders in a table', category: 'trading' }),
      await program.record({ ...given, project: { name: 'acme/app' } }),
      await program.record({ ...given, bridge: { structure: 'b', function: 'to sort apples by size' } }),
    ]
    for (const id of [good, elsewhere, other]) await program.call('reviewDecision', { id, outcome: 'success' })
    expect((await program.call('getSessionContext')).contradictions).toEqual([])
    await program.call('reviewDecision', { id: bad, outcome: 'failure' })
    const expected = {
      first_id: bad,
      second_id: good,
      first_title: 'Queue orders in a table',
      second_title: 'Queue orders in Redis',
      category: 'trading',
      reason: 'The same purpose in one project, with opposite outcomes',
    }
    expect((await program.call('getSessionContext')).contradictions).toEqual([expected])
    expect((await program.call('ready', { category: 'trading' })).actions).toMatchObject([
      { type: 'contradiction', decision_id: bad, detail: { other_id: good, other_title: expected.second_title } },
    ])
    // A later review that agrees ends it.
    await program.call('reviewDecision', { id: bad, outcome: 'success' }, 'bob')
    expect((await program.call('getSessionContext')).contradictions).toEqual([])
  })

  const purpose = { structure: 'a queue', function: 'to keep orders when the shop is down' }
  test.each([
    [
      'choices without a stated purpose',
      [{ decision: 'Queue orders in Redis' }, { decision: 'Queue orders in a table' }],
      0,
    ],
    [
      'the same act twice',
      [
        { decision: 'Release shop 3.8.7', bridge: purpose },
        { decision: 'Release shop 4.1', bridge: purpose },
      ],
      0,
    ],
    [
      'a replaced choice',
      [
        { decision: 'Queue orders in Redis', bridge: purpose },
        { decision: 'Queue orders in a table', bridge: purpose, replaced: true },
      ],
      0,
    ],
    [
      'three options: one cluster',
      ['Redis', 'a table', 'memory'].map((where) => ({ decision: `Queue orders in ${where}`, bridge: purpose })),
      1,
    ],
    [
      'an act that is repeated in other words',
      ['Release the shop', 'Ship the shop', 'Deploy the shop', 'Publish the shop', 'Roll the shop out'].map(
        (decision) => ({ decision, bridge: purpose }),
      ),
      0,
    ],
  ] as const)('%s', async (_, choices, expected) => {
    const program = await open()
    for (const [at, { replaced, ...given }] of (choices as readonly Record<string, unknown>[]).entries()) {
      const id = await program.record({ ...given, project: { name: 'acme/shop' } })
      if (replaced) {
        const source_id = await program.record({ decision: 'Something else' })
        await program.call('linkDecisions', { source_id, target_id: id, edge_type: 'supersedes' })
      }
      await program.call('reviewDecision', { id, outcome: at % 2 ? 'failure' : 'success' })
    }
    expect((await program.call('getSessionContext')).contradictions).toHaveLength(expected)
  })

  test('linked contradictions hold between live decisions only, once for each pair', async () => {
    const program = await open()
    const [a, b, c] = [await program.record(), await program.record(), await program.record()]
    const link = (source_id: string, target_id: string, edge_type: string, context?: string) =>
      program.call('linkDecisions', { source_id, target_id, edge_type, context })
    await link(a, b, 'contradicts', 'one region or two')
    await link(b, a, 'contradicts', 'one region or two')
    expect((await program.call('ready')).actions).toMatchObject([{ type: 'contradiction', priority: 'medium' }])
    await link(c, b, 'supersedes')
    expect(await shown(program)).toEqual([])
    await link(a, c, 'contradicts')
    expect((await program.call('ready')).actions[0]!.reason).toContain('linked as contradicting')
    await program.call('reviewDecision', { id: c, outcome: 'abandoned' })
    expect(await shown(program)).toEqual([])
  })

  test('dead ones hide no live ones: as many as asked for are reported, of the newest', async () => {
    const program = await open()
    const ids: string[] = []
    for (let at = 0; at < 8; at++) ids.push(await program.record())
    const link = (source: number, target: number, edge_type: string) =>
      program.call('linkDecisions', { source_id: ids[source], target_id: ids[target], edge_type })
    for (const [source, target] of [
      [0, 1],
      [2, 3],
      [4, 5],
      [6, 7],
    ] as const) {
      program.clock.now += 1_000
      await link(source, target, 'contradicts')
    }
    const first = async (limit: number) =>
      (await program.call('ready', { limit, action_types: ['contradiction'] })).actions
        .map(({ decision_id }) => ids.indexOf(decision_id!))
        .sort()
    expect(await first(3)).toEqual([2, 4, 6])
    await link(0, 6, 'supersedes')
    expect(await first(1)).toEqual([4])
    await link(0, 4, 'supersedes')
    expect(await first(1)).toEqual([2])
    expect(await first(9)).toEqual([0, 2])
  })

  test('an agent or a category sees its own contradictions, and the limit changes no total', async () => {
    const program = await open()
    const [mine, yours, theirs, ours] = [
      await decided(program, 1, { recorded_by: 'alice', category: 'mine' }),
      await decided(program, 1, { recorded_by: 'bob', category: 'yours' }),
      await decided(program, 1, { recorded_by: 'bob', category: 'theirs' }),
      await decided(program, 1, { recorded_by: 'carol', category: 'ours' }),
    ]
    const link = (source_id: string, target_id: string) =>
      program.call('linkDecisions', { source_id, target_id, edge_type: 'contradicts' })
    await link(mine, yours)
    program.clock.now += 1_000
    await link(theirs, ours)
    const told = async (params: object) =>
      (await program.call('ready', params)).actions.map(({ decision_id, category }) => [decision_id, category])
    expect(await told({ agent: 'alice' })).toEqual([[mine, 'mine']])
    expect(await told({ agent: 'carol' })).toEqual([[ours, 'ours']])
    expect(await told({ agent: 'dave' })).toEqual([])
    // The newest contradiction is another one's: it takes no place.
    expect(await told({ category: 'yours', limit: 1 })).toEqual([[yours, 'yours']])
    expect(await program.call('ready', { limit: 1 })).toMatchObject({ total: 2, filtered: 1 })
  })

  test('purposes are compared only where the index holds vectors of the same embedder', async () => {
    const program = await open()
    const given = { bridge: { structure: 'a', function: 'to keep orders' }, project: { name: 'acme/shop' } }
    const [good, bad] = [await program.record(given), await program.record(given)]
    await program.call('reviewDecision', { id: good, outcome: 'success' })
    program.embedder.id = 'another'
    await program.call('reviewDecision', { id: bad, outcome: 'failure' })
    expect(await shown(program)).toEqual([])
  })

  test('a review stands when contradictions cannot be looked for', async () => {
    const program = await open()
    const id = await program.record({ project: { name: 'acme/shop' } })
    program.embedder.health = 'away'
    expect(await program.call('reviewDecision', { id, outcome: 'failure' })).toMatchObject({ success: true })
    program.embedder.health = 'hangs'
    expect(await program.call('reviewDecision', { id, outcome: 'failure' })).toMatchObject({ success: true })
  })
})
