/** Verdicts, folded texts and modifications: laws that hold whatever the words. */
import { expect, test } from 'bun:test'
import { verdictValues } from '../../../../sdk/schema/verdict.ts'
import { skeleton } from '../../../../sdk/storage/skeleton.ts'
import type { History } from '../../../../src/domain/policy/rules/history.ts'
import * as fc from '../../../support/property.ts'
import { outcome, verdictOf } from './rules.ts'

const actions = {
  block: 'deny',
  defer: 'defer',
  step_up: 'step_up',
  modify: 'modify',
  warn: 'allow',
  log: 'allow',
} as const
const ruleOf = (action: keyof typeof actions, id: string) => ({
  id,
  action,
  message: 'm',
  condition_phase: 'check',
  ...(action === 'defer' && { defer: { reason: 'not known' } }),
  ...(action === 'modify' && { modify: { set: { 'context.x': id } } }),
})

test('the verdict is the strictest of all rules; only modify and allow are allowed', () =>
  fc.assert(
    fc.asyncProperty(
      fc.array(fc.constantFrom(...(Object.keys(actions) as (keyof typeof actions)[])), { maxLength: 5 }),
      async (given) => {
        const { verdict, allowed } = await verdictOf(given.map((one, at) => ruleOf(one, `r${at}`)))
        const wanted = given.map((one) => actions[one])
        expect(verdict).toBe(verdictValues.find((one) => wanted.includes(one)) ?? 'allow')
        expect(allowed).toBe(verdict === 'modify' || verdict === 'allow')
      },
    ),
    { numRuns: 100 },
  ))

test('a shadow rule stops nothing, classifies nothing, and is kept', async () => {
  const verdict = await verdictOf([{ ...ruleOf('block', 'r'), mode: 'shadow', tag: 'seen' }])
  expect(verdict).toMatchObject({ allowed: true, verdict: 'allow', violations: [], would_block: ['r'], tags: [] })
})

test('a text looks like itself in any case and compatible form; folding twice is folding once', () =>
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), (text) => {
      expect(skeleton(skeleton(text))).toBe(skeleton(text))
      expect(skeleton(text.normalize('NFKC'))).toBe(skeleton(text))
    }),
  ))

test('values compare as they look, unless the condition is exact', async () => {
  const is = (value: string, actual: unknown, more: object = {}) =>
    outcome(
      { type: 'field', field: 'context.environment', operator: '=', value, ...more },
      { context: { environment: actual } },
    )
  for (const actual of ['Production', 'PRODUCTION', 'рroduction', ' production', 'ｐroduction', 'production\u200b'])
    expect([actual, await is('production', actual), await is('production', actual, { exact: true })]).toEqual([
      actual,
      'y',
      'n',
    ])
  expect(await is('prod', 'prod-eu')).toBe('n')
})

test('two values for one field of the context cannot be judged', async () => {
  const condition = { type: 'field', field: 'context.payment.amount', operator: '>', value: 5000 }
  expect(await outcome(condition, { context: { payment: { amount: 9000 }, 'payment.amount': 1 } })).toBe('!')
})

test('what a modification sets and removes is in the action, and its difference says so', () =>
  fc.assert(
    fc.asyncProperty(
      fc.jsonValue({ maxDepth: 1 }),
      fc.dictionary(fc.constantFrom('a', 'b', 'command'), fc.integer()),
      async (value, context) => {
        fc.pre(value !== null)
        const rule = { ...ruleOf('modify', 'r'), modify: { set: { 'context.command': value }, remove: ['context.a'] } }
        const { modified_action, changes } = await verdictOf([rule], { context })
        const after = (modified_action?.context ?? context) as Record<string, unknown>
        expect(JSON.stringify(after.command)).toBe(JSON.stringify(value))
        expect(Object.hasOwn(after, 'a')).toBe(false)
        expect(after.b).toBe(context.b as never)
        expect(changes.every(({ before, after: next }) => JSON.stringify(before) !== JSON.stringify(next))).toBe(true)
      },
    ),
    { numRuns: 60 },
  ))

const changes = (id: string, condition: object, set: object) => ({
  id,
  action: 'modify',
  message: 'm',
  ...condition,
  modify: { set },
})
const stops = { id: 'stops', message: 'm', action: 'block', condition_category: 'production' }
const moved = changes('moves', { condition_category: 'staging' }, { category: 'production' })

test('what rules changed is judged again: no change leads past a rule, whichever is first', async () => {
  for (const rules of [
    [stops, moved],
    [moved, stops],
  ]) {
    const verdict = await verdictOf(rules, { category: 'staging' })
    expect(verdict).toMatchObject({ allowed: false, verdict: 'deny', changes: [{ rule: 'moves' }] })
    expect(verdict.violations.map(({ guardrail_id }) => guardrail_id)).toEqual(['stops'])
  }
  // Over any number of changes, and where a change moves it into the scope of a rule.
  const chain = [1, 2, 3].map((n) => changes(`c${n}`, { 'condition_context.n': n }, { 'context.n': n + 1 }))
  const last = { ...stops, condition_category: undefined, 'condition_context.n': 4 }
  expect((await verdictOf([last, ...chain.toReversed()], { context: { n: 1 } })).verdict).toBe('deny')
  const scoped = { ...stops, condition_category: 'staging', scope: 'acme/app' }
  const named = changes('names', { condition_category: 'staging' }, { project: 'acme/app' })
  const within = await verdictOf([scoped, named], { category: 'staging' })
  expect([within.verdict, within.skipped_for_scope]).toEqual(['deny', []])
})

test('a change is judged by the past of the changed action', async () => {
  const fails = { id: 'fails', message: 'm', action: 'block', 'condition_calibration.gap': '< -0.2' }
  const rules = [fails, moved]
  const fact: History['fact'] = async (_, { category }) => (category === 'production' ? -0.5 : 0)
  expect((await verdictOf(rules, { category: 'staging' }, { fact })).verdict).toBe('deny')
  expect((await verdictOf(rules, { category: 'other' }, { fact })).verdict).toBe('allow')
})

test('rules that set one field differently end with the last; rules that undo each other deny', async () => {
  const set = (id: string) => changes(id, { condition_category: 'staging' }, { 'context.x': id })
  const verdict = await verdictOf([set('a'), set('b')], { category: 'staging' })
  expect(verdict).toMatchObject({ allowed: true, verdict: 'modify', modified_action: { context: { x: 'b' } } })
  expect(verdict.changes.map(({ after }) => after)).toEqual(['a', 'b'])
  const circle = [
    changes('there', { condition_category: 'staging' }, { category: 'production' }),
    changes('back', { condition_category: 'production' }, { category: 'staging' }),
  ]
  const denied = await verdictOf(circle, { category: 'staging' })
  expect(denied).toMatchObject({ allowed: false, verdict: 'deny' })
  expect(denied.violations.map(({ guardrail_id, severity }) => [guardrail_id, severity])).toEqual([
    ['there', 'block'],
    ['back', 'block'],
  ])
})
