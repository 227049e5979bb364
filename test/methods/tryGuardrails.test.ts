/** cstp.tryGuardrails: a draft judged over the trail and over known outcomes, without being in force. */
import { expect, test } from 'bun:test'
import { forEachBackend } from '../support/program.ts'

const draft =
  '- { id: sure, message: Be sure, action: block, conditions: [{ type: field, field: stakes, operator: "=", value: high }] }'

forEachBackend((open) => {
  test('says what a draft would have changed and stopped, and leaves the rules in force alone', async () => {
    const program = await open()
    const { call, record, services } = program
    await program.rules('- { id: other, message: m, action: warn, condition_stakes: critical }')
    const policy_hash = (await services.policy.current()).hash
    for (const stakes of ['high', 'high', 'low', 'critical'])
      await call('checkGuardrails', { action: { description: `At ${stakes} stakes`, stakes } })
    for (const [stakes, outcome] of [
      ['high', 'failure'],
      ['high', 'failure'],
      ['high', 'success'],
      ['low', 'success'],
    ] as const)
      await call('reviewDecision', { id: await record({ stakes }), outcome })
    await record({ stakes: 'high' })
    const { replay, backtest, rules, errors, shadow } = await call('tryGuardrails', { rules: draft }, 'root')
    expect([errors, shadow]).toEqual([[], null])
    expect(rules).toEqual([{ id: 'sure', action: 'block', applies: expect.stringContaining('stakes') }])
    const high = replay!.examples.filter(({ description }) => description === 'At high stakes')
    expect(high.map(({ before, after, rules_after }) => [before, after, rules_after])).toEqual([
      ['pass', 'block', ['sure']],
      ['pass', 'block', ['sure']],
    ])
    expect(replay!.examples.every(({ after }) => after === 'block')).toBe(true)
    expect(replay!.fired).toEqual([{ id: 'sure', evaluations: replay!.changed }])
    expect(backtest).toMatchObject({
      all: { decisions: 4, failed: 2 },
      stopped: { decisions: 3, failed: 2, succeeded: 1 },
      rules: [{ id: 'sure', decisions: 3 }],
    })
    expect(backtest!.stopped.failure_low!).toBeLessThan(2 / 3)
    expect((await services.policy.current()).hash).toBe(policy_hash)
    const inShadow = await call(
      'tryGuardrails',
      { rules: draft.replace('id: sure,', 'id: sure, mode: shadow,') },
      'root',
    )
    expect(inShadow.replay!.changed).toBe(replay!.changed)
    expect(inShadow.backtest!.stopped.decisions).toBe(3)
  })

  test('a curator tries a draft and puts it in shadow mode, and reads no check of others', async () => {
    const { call, refused } = await open()
    await call('checkGuardrails', { action: { description: 'At high stakes', stakes: 'high' } })
    const { replay } = await call('tryGuardrails', { rules: draft }, 'curator')
    expect([replay!.changed, replay!.examples]).toEqual([1, []])
    expect((await call('tryGuardrails', { rules: draft }, 'root')).replay!.examples).toHaveLength(1)
    expect(await call('shadowGuardrails', { rules: draft }, 'curator')).toMatchObject({ errors: [], read_only: true })
    expect((await refused('shadowGuardrails', { rules: draft })).error).toBe('forbidden')
  })

  test('without a draft it says what one may contain, with the categories, agents and tools in use', async () => {
    const { call, record } = await open()
    await record({ category: 'migration' })
    await call('checkGuardrails', { action: { description: 'Run it', context: { tool: 'Bash' } } })
    const { completions } = await call('tryGuardrails', {}, 'root')
    const textsOf = (name: string) => completions![name]!.map(({ text }) => text)
    expect(textsOf('')).toEqual(expect.arrayContaining(['id', 'message', 'condition_stakes']))
    expect(textsOf('field')).toEqual(expect.arrayContaining(['stakes', 'context.tool', 'precedents.failed']))
    expect(textsOf('stakes')).toEqual(['low', 'medium', 'high', 'critical'])
    expect(textsOf('type')).toContain('semantic')
    expect(textsOf('conditions')).toEqual(expect.arrayContaining(['type', 'field', 'within_days']))
    expect(textsOf('operator')).toContain('not_in')
    expect([textsOf('category'), textsOf('agent_id'), textsOf('context.tool')]).toEqual([
      ['migration'],
      ['alice'],
      ['Bash'],
    ])
    expect((await call('tryGuardrails', { rules: draft }, 'root')).completions).toBeNull()
  })

  test('a preAction that records counts once, and a dry run not at all', async () => {
    const program = await open()
    const action = { description: 'Do it', stakes: 'high', category: 'x', confidence: 0.8 } as const
    await program.call('preAction', { action, options: { auto_record: true } })
    await program.call('checkGuardrails', { action, dry_run: true })
    const { replay } = await program.call('tryGuardrails', { rules: draft }, 'root')
    expect(replay).toMatchObject({ evaluations: 1, changed: 1, stopped: 1, fired: [{ id: 'sure', evaluations: 1 }] })
    expect(replay!.examples).toHaveLength(1)
    await program.rules(draft.replace('action: block', 'action: warn'))
    await program.call('preAction', { action, options: { auto_record: true } })
    const { guardrails } = await program.call('listGuardrails', { fired_since: '2026-01-01' }, 'root')
    expect(guardrails[0]!.fired).toBe(1)
  })

  test('says what rules in shadow mode would have stopped', async () => {
    const program = await open()
    await program.rules(draft.replace('id: sure,', 'id: sure, mode: shadow,'))
    const { decision_id } = await program.call('preAction', {
      action: { description: 'Do it', stakes: 'high', category: 'x', confidence: 0.8 },
      options: { auto_record: true },
    })
    await program.call('reviewDecision', { id: decision_id, outcome: 'failure' })
    const { replay, backtest, shadow } = await program.call('tryGuardrails', {}, 'root')
    expect([replay, backtest]).toEqual([null, null])
    expect(shadow).toMatchObject({ stopped: { decisions: 1, failed: 1 }, rules: [{ id: 'sure', decisions: 1 }] })
  })
})
