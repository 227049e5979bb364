/** CSTP_CATEGORIES and CSTP_ENVIRONMENTS: a value outside of a closed list is a violation, on every way to a verdict. */
import { expect, test } from 'bun:test'
import { archivedPolicy, compileArchived } from '../../src/domain/policy/judge/archive.ts'
import { replay } from '../../src/domain/policy/trial/replay.ts'
import { openMemoryProgram, type TestProgram } from '../support/program.ts'

const lists = { categories: ['payment', 'Deployment'], environments: ['production', 'staging'] }

async function withLists(work: (program: TestProgram) => Promise<void>): Promise<void> {
  const program = await openMemoryProgram()
  try {
    program.services.record_guardrails = 'block'
    await program.rules('', lists)
    await work(program)
  } finally {
    await program.close()
  }
}
const violated = async (program: TestProgram, action: object) =>
  (await program.call('checkGuardrails', { action: { description: 'Pay', ...action } })).violations.map(
    ({ guardrail_id }) => guardrail_id,
  )

test('checkGuardrails: a value of a list passes as it looks, another one is a violation', () =>
  withLists(async (program) => {
    for (const category of ['payment', 'PAYMENT', 'p\u0430yment', 'deployment'])
      expect([category, await violated(program, { category })]).toEqual([category, []])
    for (const category of ['payments', 'pay', 'other', 'uncategorized'])
      expect([category, await violated(program, { category })]).toEqual([category, ['unknown_category']])
    expect(await violated(program, {})).toEqual([])
    expect(await violated(program, { context: { environment: 'Production' } })).toEqual([])
    // Other values, other kinds, and other keys that look alike: none is known.
    for (const context of [
      { environment: 'prod-eu' },
      { environment: '' },
      { environment: 7 },
      { environment: ['production'] },
      { Environment: 'prod-eu' },
    ])
      expect([context, await violated(program, { context })]).toEqual([context, ['unknown_environment']])
    expect(await violated(program, { category: 'other', context: { environment: 'moon' } })).toEqual([
      'unknown_category',
      'unknown_environment',
    ])
  }))

test('a call of a tool is checked whatever the list is, and is not recorded as its category', () =>
  withLists(async (program) => {
    expect(await violated(program, { category: 'tool_use' })).toEqual([])
    program.services.record_guardrails = 'block'
    const recorded = { decision: 'Run it', confidence: 0.9, category: 'tool_use' }
    expect((await program.refused('recordDecision', recorded)).data).toMatchObject({
      violations: [{ guardrail_id: 'unknown_category' }],
    })
  }))

test('preAction and recordDecision refuse it, and nothing is recorded', () =>
  withLists(async (program) => {
    const pre = (action: object) =>
      program.call('preAction', { action: { description: 'Pay', confidence: 0.9, ...action } })
    expect(await pre({ category: 'other' })).toMatchObject({
      allowed: false,
      decision_id: null,
      violations: [{ guardrail_id: 'unknown_category', severity: 'block' }],
    })
    expect(await pre({ category: 'payment', context: { environment: 'moon' } })).toMatchObject({
      allowed: false,
      violations: [{ guardrail_id: 'unknown_environment' }],
    })
    // A record has a category of the list.
    for (const mode of ['warn', 'block'] as const) {
      program.services.record_guardrails = mode
      expect(await pre({})).toMatchObject({ allowed: false, violations: [{ guardrail_id: 'no_category' }] })
    }
    const given = { decision: 'Pay', confidence: 0.9 }
    expect((await program.refused('recordDecision', { ...given, category: 'other' })).data).toMatchObject({
      violations: [{ guardrail_id: 'unknown_category', suggestion: 'Use one of payment, Deployment' }],
    })
    const refused = { ...given, category: 'payment', action_context: { environment: 'moon' } }
    expect((await program.refused('recordDecision', refused)).data).toMatchObject({
      violations: [{ guardrail_id: 'unknown_environment' }],
    })
    expect((await program.call('listDecisions')).total).toBe(0)
    expect((await pre({ category: 'payment', context: { environment: 'staging' } })).decision_id).not.toBeNull()
    expect((await program.call('recordDecision', { ...given, category: 'payment' })).success).toBe(true)
  }))

test('a rule that moves an action out of a list is stopped by the check already', () =>
  withLists(async (program) => {
    await program.rules(
      '- { id: moves, action: modify, message: m, condition_category: payment, modify: { set: { category: other } } }',
      lists,
    )
    expect(await violated(program, { category: 'payment' })).toEqual(['unknown_category'])
    expect(
      await program.call('preAction', { action: { description: 'Pay', confidence: 0.9, category: 'payment' } }),
    ).toMatchObject({ allowed: false, verdict: 'deny', violations: [{ guardrail_id: 'unknown_category' }] })
  }))

test('the lists are part of the policy: its hash, its archive, and the replay of a verdict', () =>
  withLists(async (program) => {
    const { hash } = await program.services.policy.current()
    expect(await violated(program, { category: 'other' })).toEqual(['unknown_category'])
    const [entry] = await program.store.audit.list({ limit: 1 })
    await program.rules('', { ...lists, categories: null })
    const now = await program.services.policy.current()
    expect(now.hash).not.toBe(hash)
    expect(now.rules.map(({ rule }) => rule.id)).toEqual(['unknown_environment'])
    const archived = async (policy_hash: string) => {
      const found = await archivedPolicy(program.store, policy_hash)
      return found && compileArchived({ policy_hash, guardrails: found.rules, circuit_breakers: found.breakers })
    }
    expect(await replay(now, archived, entry!)).toMatchObject({
      policy_hash: hash,
      by_its_rules: { outcome: 'same', why: null },
      before: 'block',
      after: 'pass',
    })
    await program.rules('')
    const open = (await program.services.policy.current()).hash
    await program.rules('', { categories: null, environments: null })
    expect((await program.services.policy.current()).hash).toBe(open)
  }))
