/** cstp.getSessionContext: an agent’s own record and what it should know, as fields and as Markdown, on every store. */
import { expect, test } from 'bun:test'
import { decidedByAlice as decided } from '../support/decided.ts'
import { forEachBackend, type TestProgram } from '../support/program.ts'

forEachBackend((open) => {
  /** An agent with a history: good in one category, overconfident in another, something due, a breaker open. */
  async function lived(program: TestProgram) {
    await program.rules(`
guardrails: [{ id: careful, action: warn, description: Look twice, condition_stakes: critical }]
circuit_breakers: [{ scope: "category:trading", failure_threshold: 3, window_ms: 86400000, cooldown_ms: 3600000 }]
`)
    for (let at = 0; at < 6; at++) {
      const id = await decided(program, 20 + at, { pattern: 'keep one copy' })
      await program.call('reviewDecision', { id, outcome: 'success' }, 'bob')
    }
    for (let at = 0; at < 3; at++) await decided(program, 20, { category: 'trading', confidence: 0.9 }, 'failure')
    // Breakers look at what was recorded, not at what was imported.
    for (let at = 0; at < 3; at++) {
      const id = await program.record({ category: 'trading', confidence: 0.9 })
      await program.call('reviewDecision', { id, outcome: 'failure' })
    }
    await decided(program, 40, {}, '')
    await program.record({ decision: 'Buy the dip', category: 'trading' }, 'bob')
  }

  test('session context: the agent’s own record, and what it should know', async () => {
    const program = await open()
    await lived(program)
    const context = await program.call('getSessionContext', { task_description: 'Buy the dip' })
    expect(context.agent_profile).toMatchObject({
      agent: 'alice',
      total_decisions: 13,
      reviewed_decisions: 12,
      accuracy: 0.5,
      tendency: 'overconfident',
      strongest_category: 'architecture',
      weakest_category: 'trading',
      active_since: '2026-05-22',
    })
    expect(context.relevant_decisions![0]).toMatchObject({ title: 'Buy the dip' })
    expect(context.active_guardrails).toEqual([
      { id: 'careful', action: 'warn', description: 'Look twice', applies: 'the stakes are critical', scopes: [] },
    ])
    expect(context.calibration_by_category).toMatchObject([
      { category: 'architecture', decisions: 7, reviewed: 6, interpretation: 'underconfident' },
      { category: 'trading', decisions: 6, reviewed: 6, interpretation: 'overconfident', calibration_gap: -0.9 },
    ])
    expect(context.ready_queue!.map(({ type }) => type)).toEqual(['open_breaker', 'stale_pending'])
    expect(context.confirmed_patterns).toMatchObject([{ pattern: 'keep one copy', category: 'architecture', count: 6 }])
    expect(context.wisdom!.map(({ category }) => category)).toEqual(['architecture', 'trading'])
    expect(context.circuit_breakers).toMatchObject([{ scope: 'category:trading', state: 'open' }])
    expect(context.markdown).toBeUndefined()
    expect((await program.call('getSessionContext', {}, 'bob')).agent_profile).toMatchObject({
      agent: 'bob',
      total_decisions: 1,
    })
  })

  test('parts that are not asked for are empty; limits hold; without a task the latest decisions stand', async () => {
    const program = await open()
    await lived(program)
    const {
      query_time_ms: _,
      agent_profile: __,
      no_precedent,
      degraded,
      index,
      ...rest
    } = await program.call('getSessionContext', { include: ['ready'], ready_limit: 1 })
    expect(rest.ready_queue!.length).toBe(1)
    expect({ no_precedent, degraded, complete: index?.complete }).toEqual({
      no_precedent: false,
      degraded: false,
      complete: true,
    })
    for (const [part, list] of Object.entries(rest))
      if (part !== 'ready_queue' && part !== 'precedent') expect([part, list]).toEqual([part, []])
    const { relevant_decisions } = await program.call('getSessionContext', { decisions_limit: 2 })
    expect(relevant_decisions!.map(({ date }) => date)).toEqual(['2026-07-01', '2026-07-01'])
  })

  test('without a task the own latest decisions stand; a pattern that failed as often as it held is not confirmed', async () => {
    const program = await open()
    const own = [await program.record({ pattern: 'cache reads' }), await program.record({ pattern: 'Cache reads' })]
    const others = [
      await program.record({ pattern: 'cache reads' }, 'bob'),
      await program.record({ pattern: 'cache reads' }, 'bob'),
    ]
    const told = async () => {
      const found = await program.call('getSessionContext')
      const ids = found.relevant_decisions!.map(({ id }) => id).sort()
      return [ids, found.confirmed_patterns!.map(({ pattern }) => pattern.toLowerCase())]
    }
    for (const id of own) await program.call('reviewDecision', { id, outcome: 'success' }, 'bob')
    expect(await told()).toEqual([own.sort(), ['cache reads']])
    for (const id of others) await program.call('reviewDecision', { id, outcome: 'failure' })
    expect(await told()).toEqual([own, []])
  })

  test('a project without a task: its decisions in force and its newest failures, for an agent that is new', async () => {
    const program = await open()
    const record = (decision: string, more: object = {}) => program.record({ decision, project: 'acme/shop', ...more })
    const old = await record('Keep the basket in the browser')
    await program.call('reviewDecision', { id: old, outcome: 'failure', lessons: 'Customers have several devices' })
    const current = await record('Keep the basket on the server', { stakes: 'high' })
    await program.call('linkDecisions', { source_id: current, target_id: old, edge_type: 'supersedes' })
    const small = await record('Name the buttons')
    await program.record({ decision: 'Elsewhere', project: 'acme/other' })
    const given = { project: 'acme/shop', format: 'markdown' }
    const { markdown = '' } = await program.call('getSessionContext', given, 'bob')
    const ids = [...markdown.matchAll(/`([\d-]+decision-[0-9a-f]+)`/g)].map(([, id]) => id)
    expect(ids).toEqual([current, small, old, current])
    expect(markdown).toContain('## Decisions of acme/shop in force')
    expect(markdown).toContain('failed, lesson "Customers have several devices"')
    expect(markdown).not.toContain('Elsewhere')
    const { relevant_decisions } = await program.call('getSessionContext', { project: 'acme/shop' }, 'bob')
    expect(relevant_decisions!.map(({ id }) => id)).toEqual([current, small, old])
  })

  test('rules are shown if they can apply to the task, by project, category and what they are about', async () => {
    const program = await open()
    await program.rules(`
- { id: sure, action: block, description: Risky actions need confidence, condition_stakes: high }
- { id: elsewhere, action: block, description: Reviewed elsewhere, scope: acme/other, condition_stakes: high }
- { id: here, action: warn, description: Tell the team, scope: acme/shop, condition_stakes: high }
- { id: again, action: warn, description: Failed before, conditions: [{ type: semantic, threshold: 0.5, outcome: failure }] }
- { id: undone, action: warn, description: No way back, condition_context.irreversible: true }
- { id: live, action: block, description: Reviews of deployments, conditions: [{ type: compound, operator: or, conditions: [{ type: field, field: category, operator: "=", value: deployment }, { type: field, field: context.environment, operator: "=", value: live }] }] }
- { id: trade, action: block, description: Limits of trades, condition_category: trading }
- { id: drop, action: step_up, description: Deletes a table of the database, conditions: [{ type: command, program: dropdb }] }
- { id: fetched, action: block, description: Of the code nobody has seen the end and the server can send the shell another, conditions: [{ type: command, program: curl }] }
- { id: push, action: step_up, description: Rewrites the history of a branch on the server, conditions: [{ type: command, program: git, subcommand: push }] }
`)
    const risky = { category: 'architecture', stakes: 'high' }
    const kept = await program.record({ decision: 'Keep the orders in one database', ...risky })
    await program.record({ decision: 'Ship the handbook with every chair', category: 'deployment' })
    const rulesFor = async (given: object) => {
      const { markdown = '' } = await program.call('getSessionContext', { format: 'markdown', ...given })
      return [...markdown.matchAll(/^- \*\*\w+\*\* (\w+)/gm)].map(([, id]) => id).sort()
    }
    const task = { task_description: 'Delete the old orders table of the database' }
    expect(await rulesFor(task)).toEqual(['drop', 'sure'])
    expect(await rulesFor({ ...task, project: 'acme/shop' })).toEqual(['drop', 'here', 'sure'])
    await program.call('reviewDecision', { id: kept, outcome: 'failure' }, 'bob')
    expect(await rulesFor(task)).toEqual(['again', 'drop', 'sure'])
    // Decisions like this one were never of high stakes, and none of them failed. Rules that stop are shown all the same.
    const handbook = { task_description: 'Ship the handbook with each chair' }
    expect(await rulesFor(handbook)).toEqual(['live', 'sure'])
    expect(await rulesFor({ ...handbook, project: 'acme/shop' })).toEqual(['live', 'sure'])
    expect(await rulesFor({})).toEqual(['again', 'sure'])
  })

  test('what does not fit a task is left out, and what only may fit is marked', async () => {
    const program = await open()
    const fits = await program.record({ decision: 'Retry payments with growing pauses' })
    await program.record({ decision: 'Paint the office green' })
    const { relevant_decisions } = await program.call('getSessionContext', {
      task_description: 'Retry failed payments',
    })
    expect(relevant_decisions!.map(({ id, weak }) => [id, weak])).toEqual([[fits, undefined]])
  })
})
