/** cstp.getBriefing: what changed since a time, on every store; the sample of due reviews; how often rules fired. */
import { expect, test } from 'bun:test'
import { forEachBackend, type TestProgram } from '../support/program.ts'

const day = 86_400_000

forEachBackend((open) => {
  const failing = async (program: TestProgram, lessons: string) => {
    const id = await program.record({ category: 'deploy' })
    await program.call('reviewDecision', { id, outcome: 'failure', lessons }, 'bob')
    return id
  }

  test('counts what happened in the period, names the cause that failures share, and the agents that are new', async () => {
    const program = await open()
    await program.record({}, 'bob')
    program.clock.now += 3 * day
    const ids = [
      await failing(program, 'Set lock_timeout first'),
      await failing(program, 'set  lock_timeout first'),
      await failing(program, 'Ask before a freeze'),
    ]
    const found = await program.call('getBriefing', {}, 'root')
    expect(found).toMatchObject({ decisions: 3, reviewed: 3, failed: 3, new_agents: ['alice'] })
    expect(found.cause).toMatchObject({ failures: 2 })
    expect(new Set(found.cause!.ids)).toEqual(new Set(ids.slice(0, 2)))
    expect(found.lessons.map(({ text }) => text).length).toBe(2)
    expect(await program.call('getBriefing', { since: '2026-01-01' })).toMatchObject({ decisions: 4 })
    // A period may begin at any time of a day, and the list of what was reviewed has as many.
    program.clock.now += 60_000
    const since = new Date(program.clock.now).toISOString()
    await failing(program, 'Ask twice')
    expect(await program.call('getBriefing', { since })).toMatchObject({ reviewed: 1, failed: 1 })
    const listed = await program.call('listDecisions', { reviewed_from: since, outcome: 'failure' })
    expect(listed.decisions.map(({ title }) => title).length).toBe(1)
    expect(listed.total).toBe(1)
    expect(await program.call('getBriefing', { agent: 'bob' })).toMatchObject({ decisions: 0, reviewed: 0 })
  })

  test('stopped actions are grouped by agent and rule, and dry runs are left out', async () => {
    const program = await open()
    await program.rules('- { id: never, action: block, condition_stakes: critical, message: m }')
    const check = (as: 'alice' | 'bob', dry_run = false) =>
      program.call('checkGuardrails', { action: { description: 'Drop it', stakes: 'critical' }, dry_run }, as)
    for (let times = 0; times < 3; times++) await check('alice')
    await check('bob')
    await check('bob', true)
    const stops = async (as: 'root' | 'bob' | 'lead') =>
      (await program.call('getBriefing', {}, as)).stops.map(({ agent, rule, count }) => [agent, rule, count])
    expect(await stops('root')).toEqual([
      ['bob', 'never', 1],
      ['alice', 'never', 3],
    ])
    // Who answers for agents reads what stopped them; an agent reads of its own stops only.
    expect(await stops('lead')).toEqual(await stops('root'))
    expect(await stops('bob')).toEqual([['bob', 'never', 1]])
    for (const who of ['root', 'lead'] as const) {
      const fired = await program.call('listGuardrails', { fired_since: '2026-01-01' }, who)
      expect([fired.guardrails[0]!.fired, fired.fired_from]).toEqual([4, '2026-01-01T00:00:00.000Z'])
    }
    expect(
      (await program.call('listGuardrails', { fired_since: '2026-01-01' }, 'bob')).guardrails[0],
    ).not.toHaveProperty('fired')
  })

  test('the agent that got worse is the one of checkDrift and of the verdict, with its weeks', async () => {
    const program = await open()
    const decided = async (outcome: 'success' | 'failure', count: number, by: 'alice' | 'root' = 'alice') => {
      for (let number = 0; number < count; number++) {
        const id = await program.record({ confidence: 0.8 }, by)
        await program.call('reviewDecision', { id, outcome }, 'bob')
      }
    }
    await decided('success', 45)
    await decided('success', 45, 'root')
    program.clock.now += 40 * day
    // A proven difference of two rates is not yet a fall that the sequential test finds.
    await decided('failure', 2)
    expect((await program.call('getBriefing')).worse).toBe(null)
    program.clock.now += day
    const since = new Date(program.clock.now).toISOString().slice(0, 10)
    await decided('failure', 10)
    await decided('failure', 6, 'root')
    const { worse, weeks } = await program.call('getBriefing')
    const { change } = await program.call('checkDrift', { agent: 'alice' })
    expect(worse).toMatchObject({ agent: 'alice', since: change!.since })
    expect(worse!.recent).toMatchObject({ scored: change!.after.scored, rate: change!.after.accuracy })
    expect(worse!.earlier).toMatchObject({ scored: change!.before.scored, rate: change!.before.accuracy })
    expect((await program.call('getCalibration')).verdict.subject).toEqual({ by: 'agent', key: 'alice' })
    expect((await program.call('getBriefing', { agent: 'root' })).worse).toMatchObject({ agent: 'root', since })
    expect(weeks).toHaveLength(12)
    expect(weeks.at(-1)).toMatchObject({ complete: false, scored: 12, rate: 0 })
    expect(weeks.reduce((sum, { scored }) => sum + scored, 0)).toBe(57)
  })

  test('many due reviews are sampled, and the answer has its share of the information', async () => {
    const program = await open()
    const created_at = new Date(program.clock.now - 20 * day).toISOString()
    for (let number = 0; number < 30; number++)
      await program.record({ created_at, review_in: '3d', stakes: number % 2 ? 'low' : 'critical' }, 'root')
    const { actions, sample, total } = await program.call('ready', { sample: 6, limit: 200 })
    expect(sample).toMatchObject({ shown: 6, of: 30, by_agent: { root: 30 } })
    expect(sample!.share).toBeGreaterThan(0)
    expect(total).toBe(30)
    expect(new Set(actions.map(({ decision_id }) => decision_id)).size).toBe(6)
    const critical = actions.filter(({ detail }) => detail.stakes === 'critical').length
    expect(critical).toBeGreaterThan(3)
    expect(await program.call('ready', { limit: 200 })).not.toHaveProperty('sample')
  })
})
