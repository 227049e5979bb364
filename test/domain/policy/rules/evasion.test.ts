/** Attempts to get past a rule. All of them must fail. */
import { describe, expect, test } from 'bun:test'
import { skeleton } from '../../../../sdk/storage/skeleton.ts'
import type { Action } from '../../../../src/domain/policy/rules/action.ts'
import { contextProblem } from '../../../../src/domain/policy/rules/action.ts'
import { cpuClock } from '../../../support/cpu.ts'
import { policyOf, verdictOf } from './rules.ts'

const rules = `
- id: confidence
  conditions:
    - { type: field, field: stakes, operator: in, value: [high, critical] }
    - { type: field, field: confidence, operator: "<", value: 0.5, when_missing: match }
- { id: production, action: warn, condition_environment: production, requires_reviewed: true }
- { id: amount, action: warn, condition_context.amount: "> 5000" }
- { id: nested, action: warn, condition_context.deploy.target: production }
`
const fired = async (action: Partial<Action>) => (await verdictOf(rules, action)).fired
const given = (context: unknown) => fired({ context: context as Record<string, unknown> })

describe('the action itself', () => {
  test('a context key does not replace a field', async () => {
    const context = { stakes: 'low', confidence: 0.99, action: { stakes: 'low' }, 'action.stakes': 'low' }
    expect(await fired({ stakes: 'critical', confidence: 0.1, context })).toEqual(['confidence'])
    expect(await fired({ stakes: 'critical', context })).toEqual(['confidence'])
    const phases = '[{ id: p, condition_phase: check }, { id: a, condition_agent_id: alice }]'
    expect((await verdictOf(phases, { context: { phase: 'record', agent_id: 'root' } })).fired).toEqual(['p', 'a'])
  })

  test('leaving the confidence out does not help, nor does a look-alike of it', async () => {
    expect(await fired({ stakes: 'high' })).toEqual(['confidence'])
    expect(await fired({ stakes: 'high', context: { сonfidence: 0.9 } })).toEqual(['confidence'])
  })
})

test('a field that is null is absent, for every answer to what absence means', async () => {
  const field = (id: string, more: string) =>
    `{ id: ${id}, conditions: [{ type: field, field: context.amount, operator: ">", value: 5000${more} }] }`
  const exists = '{ id: gone, conditions: [{ type: field, field: context.amount, operator: exists, value: false }] }'
  const text = `[${field('blocks', '')}, ${field('matches', ', when_missing: match')}, ${field('passes', ', when_missing: no_match')}, ${exists}]`
  const [absent, empty] = [await verdictOf(text, {}), await verdictOf(text, { context: { amount: null } })]
  expect(absent.fired).toEqual(['blocks', 'matches', 'gone'])
  expect(empty.fired).toEqual(absent.fired)
})

describe('keys', () => {
  test.each([
    ['Cyrillic letters', { аmount: 9000 }],
    ['full width', { ａｍｏｕｎｔ: 9000 }],
    ['another case', { Amount: 9000 }],
    ['zero width', { 'am\u200bount': 9000 }],
    ['soft hyphen', { 'am\u00adount': 9000 }],
    ['combining marks', { amóunt: 9000 }],
    ['spaces', { 'amount ': 9000 }],
    ['mathematical letters', { 𝐚mount: 9000 }],
    ['dotless i in a path', { deploy: { tаrget: 'production' } }],
    ['the first step of a path', { Deploy: { target: 'production' } }],
  ])('%s', async (_, context) => {
    expect((await given(context)).length).toBeGreaterThan(0)
  })

  test('two spellings of a key that a rule reads stop the action, since it may mean either', async () => {
    expect(await given({ amount: 9000, Amount: 1 })).toContain('amount')
    expect(await given({ amount: 1, Amount: 9000 })).toContain('amount')
    const cel = '[{ id: c, conditions: [{ type: cel, expression: action.context.amount > 5.0 }] }]'
    expect((await verdictOf(cel, { context: { amount: 1 } })).fired).toEqual([])
    expect((await verdictOf(cel, { context: { amount: 1, Amount: 9 } })).fired).toEqual(['c'])
  })

  test('other keys are left in peace', async () => {
    expect(
      await given({ count: 1, environments: 1, amounts: [1], confident: 1, deploy: { by: 'x' }, übung: 1 }),
    ).toEqual([])
    expect(skeleton('amount')).toBe('amount')
    expect(skeleton('a_mount')).not.toBe('amount')
  })

  test('prototype names are plain keys or nothing', async () => {
    const context = JSON.parse('{"__proto__": {"amount": 9000, "reviewed": true}, "constructor": {"amount": 9000}}')
    expect(await given(context)).toEqual([])
    const production = JSON.parse('{"environment": "production", "__proto__": {"reviewed": true}}')
    expect(await given(production)).toEqual(['production'])
    const own =
      '[{ id: r, action: warn, condition_context.__proto__.polluted: true }, { id: s, condition_x: 1, requires_toString: true }]'
    expect((await verdictOf(own, { context: { x: 1 } })).fired).toEqual(['s'])
    expect(({} as Record<string, unknown>).polluted).toBeUndefined()
  })
})

describe('values', () => {
  test.each([
    ['text', '9000'],
    ['list', [9000]],
    ['object', { value: 9000 }],
    ['true', true],
  ])('an amount as %s is not comparable, and blocked', async (_, amount) => {
    expect(await given({ amount })).toEqual(['amount'])
  })

  test.each([
    ['text', 'true'],
    ['number', 1],
    ['list', [true]],
    ['object', { true: true }],
  ])('a review as %s is none', async (_, reviewed) => {
    expect(await given({ environment: 'production', reviewed })).toEqual(['production'])
  })

  test('a list of environments is blocked, not skipped', async () => {
    expect(await given({ environment: ['production'] })).toEqual(['production'])
  })
})

describe('size', () => {
  test('a context that is too deep or too large is refused', () => {
    const nested = (levels: number): unknown => (levels === 0 ? 1 : { a: nested(levels - 1) })
    expect(contextProblem(nested(8) as never)).toBeNull()
    expect(contextProblem(nested(9) as never)?.message).toContain('at most 8 levels')
    expect(contextProblem({ a: [[[[[[[[1]]]]]]]] })?.message).toContain('at most 8 levels')
    const bytes = (count: number) => ({ a: 'é'.repeat(count) })
    expect(contextProblem(bytes(32_763))).toBeNull()
    expect(contextProblem(bytes(32_765))?.message).toContain('at most 65536 bytes')
  })

  test('a thousand rules on the widest context are evaluated in no time', async () => {
    const many = Array.from({ length: 1_000 }, (_, at) => ({
      id: `r${at}`,
      action: 'warn',
      [`condition_context.key${at}x`]: '> 5',
    }))
    const { rules: compiled } = await policyOf(JSON.stringify(many))
    const { evaluate } = await import('../../../../src/domain/policy/rules/evaluate.ts')
    const { actionOf, past } = await import('./rules.ts')
    const context = Object.fromEntries(Array.from({ length: 6_000 }, (_, at) => [`k${at}`, 1]))
    const used_ms = cpuClock()
    const { allowed, warnings } = await evaluate(compiled, actionOf({ context }), past(), () => {})
    expect([allowed, warnings]).toEqual([true, []])
    expect(used_ms()).toBeLessThan(500)
  })
})
