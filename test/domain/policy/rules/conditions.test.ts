/** Conditions on the past and on the clock, scopes, requirements, and errors that fail closed. */
import { describe, expect, test } from 'bun:test'
import type { AggregateCondition, SemanticCondition } from '../../../../sdk/schema/guardrail.ts'
import { outcome, verdictOf } from './rules.ts'

const at = (time: string) => ({ now: () => Date.parse(time) })

describe('the clock', () => {
  // 2026-07-01 is a Wednesday.
  test.each([
    ['["09:00", "17:00"]', 'UTC', '2026-07-01T08:59:59Z', 'n'],
    ['["09:00", "17:00"]', 'UTC', '2026-07-01T09:00:00Z', 'y'],
    ['["09:00", "17:00"]', 'UTC', '2026-07-01T16:59:59Z', 'y'],
    ['["09:00", "17:00"]', 'UTC', '2026-07-01T17:00:00Z', 'n'],
    ['["22:00", "06:00"]', 'UTC', '2026-07-01T23:30:00Z', 'y'],
    ['["22:00", "06:00"]', 'UTC', '2026-07-02T05:59:00Z', 'y'],
    ['["22:00", "06:00"]', 'UTC', '2026-07-02T06:00:00Z', 'n'],
    ['["09:00", "17:00"]', 'America/New_York', '2026-07-01T09:30:00Z', 'n'],
    ['["09:00", "17:00"]', 'America/New_York', '2026-07-01T13:00:00Z', 'y'],
    ['["00:00", "00:01"]', 'UTC', '2026-07-01T00:00:59Z', 'y'],
  ])('between %s in %s at %s', async (between, timezone, time, wanted) => {
    const condition = { type: 'temporal', between: JSON.parse(between), timezone }
    expect(await outcome(condition, {}, at(time))).toBe(wanted as never)
  })

  test('the small hours belong to the day on which the span began', async () => {
    const friday = { type: 'temporal', between: ['22:00', '06:00'], weekdays: ['fri'] }
    expect(await outcome(friday, {}, at('2026-07-03T23:00:00Z'))).toBe('y')
    expect(await outcome(friday, {}, at('2026-07-04T05:00:00Z'))).toBe('y')
    expect(await outcome(friday, {}, at('2026-07-03T05:00:00Z'))).toBe('n')
    expect(await outcome({ type: 'temporal', weekdays: ['wed', 'sun'] }, {}, at('2026-07-01T00:00:00Z'))).toBe('y')
    expect(await outcome({ type: 'temporal', weekdays: ['thu'] }, {}, at('2026-07-01T23:59:59Z'))).toBe('n')
  })
})

describe('the past', () => {
  test('temporal counts what was recorded within the window', async () => {
    const asked: unknown[] = []
    const count = async (filter: unknown) => {
      asked.push(filter)
      return 3
    }
    const condition = { type: 'temporal', field: 'tag', value: 'Pr\u043ed', window_hours: 2, max_occurrences: 3 }
    const now = { ...at('2026-07-01T12:00:00Z'), count }
    expect(await outcome(condition, {}, now)).toBe('y')
    expect(await outcome({ ...condition, max_occurrences: 4, field: 'stakes', value: 'high' }, {}, now)).toBe('n')
    const created_from_ms = Date.parse('2026-07-01T10:00:00Z')
    expect(asked).toEqual([
      { alike: { tag: 'prod' }, created_from_ms },
      { stakes: ['high'], created_from_ms },
    ])
  })

  test('semantic asks for the description and needs min_matches', async () => {
    const similar = async (text: string, { threshold }: SemanticCondition) =>
      text === 'Do it' && Number(threshold) < 0.9 ? 2 : 0
    expect(await outcome({ type: 'semantic', threshold: 0.8 }, {}, { similar })).toBe('y')
    expect(await outcome({ type: 'semantic', threshold: 0.8, min_matches: 3 }, {}, { similar })).toBe('n')
    expect(await outcome({ type: 'semantic', threshold: 0.95 }, {}, { similar })).toBe('n')
  })

  test('aggregate needs enough decisions and a figure', async () => {
    const rate = (decisions: number, value: number | null) => ({
      aggregate: async (_: AggregateCondition) => ({ decisions, value }),
    })
    const condition = { type: 'aggregate', metric: 'success_rate', operator: '<', value: 0.5, min_decisions: 5 }
    expect(await outcome(condition, {}, rate(5, 0.4))).toBe('y')
    expect(await outcome(condition, {}, rate(4, 0.4))).toBe('n')
    expect(await outcome(condition, {}, rate(5, 0.5))).toBe('n')
    expect(await outcome(condition, {}, rate(0, null))).toBe('n')
    expect(await outcome({ type: 'aggregate', metric: 'count', operator: '<', value: 5 }, {}, rate(0, 0))).toBe('y')
  })

  test.each([
    ['semantic', { type: 'semantic', threshold: 0.5 }],
    ['temporal', { type: 'temporal', field: 'category', value: 'x', window_hours: 1, max_occurrences: 1 }],
    ['aggregate', { type: 'aggregate', metric: 'count', operator: '>', value: 1 }],
  ])('%s fails closed when its engine is unavailable, and reveals nothing of it', async (_, condition) => {
    const away = async () => {
      throw new Error('/var/secret.db is locked')
    }
    const history = { similar: away, count: away, aggregate: away }
    for (const action of ['block', 'warn', 'log'] as const) {
      const verdict = await verdictOf([{ id: 'r', action, message: 'm', conditions: [condition] }], {}, history)
      expect([verdict.allowed, verdict.fired]).toEqual([action !== 'block', ['r']])
      const [entry] = action === 'block' ? verdict.violations : verdict.warnings
      if (action !== 'log') expect(entry).toMatchObject({ severity: action, error: 'its data could not be read' })
      expect(JSON.stringify(verdict)).not.toContain('secret')
    }
    // A part that decides alone needs no answer of the others.
    const never = { type: 'field', field: 'stakes', operator: '=', value: 'low' }
    expect(await outcome({ type: 'compound', operator: 'and', conditions: [condition, never] }, {}, history)).toBe('n')
  })
})

describe('rules', () => {
  test('requirements are exactly true, or the rule is violated', async () => {
    const rule = [{ id: 'r', message: 'm', requirements: ['reviewed', 'context.a.b'] }]
    const check = (context: object) => verdictOf(rule, { context: context as never })
    expect((await check({ reviewed: true, a: { b: true } })).allowed).toBe(true)
    for (const context of [
      {},
      { reviewed: true },
      { reviewed: 'true', a: { b: true } },
      { reviewed: 1, a: { b: true } },
    ])
      expect((await check(context)).allowed).toBe(false)
    const own = [{ id: 'r', condition_phase: 'check', requires_has_query: true }]
    expect((await verdictOf(own, { context: { has_query: true } })).allowed).toBe(false)
    expect((await verdictOf(own, { has_query: true })).violations).toEqual([])
    expect((await verdictOf(own)).violations[0]!.message).toBe('Required and not true: has_query')
  })

  test('a rule that cannot be evaluated is violated, though all that it requires is true', async () => {
    const rule = [{ id: 'r', message: 'm', condition_amount: '> 5', requires_approved: true }]
    expect((await verdictOf(rule, { context: { amount: 6, approved: true } })).allowed).toBe(true)
    expect((await verdictOf(rule, { context: { amount: '6', approved: true } })).violations).toMatchObject([
      { error: 'amount is a string; > needs a number' },
    ])
  })

  test('scope limits a rule to its projects and scopes; all rules are counted', async () => {
    const rules = [
      { id: 'one', scope: 'acme/app', condition_phase: 'check' },
      { id: 'two', scope: ['acme/lib', 'trading'], condition_phase: 'check', action: 'warn' },
      { id: 'all', condition_phase: 'record' },
    ]
    const fired = async (action: object) => {
      const { fired: found, evaluated } = await verdictOf(rules, action)
      expect(evaluated).toBe(3)
      return found
    }
    expect(await fired({})).toEqual([])
    expect(await fired({ project: 'acme/app' })).toEqual(['one'])
    expect(await fired({ project: 'acme/app', scope: 'trading' })).toEqual(['one', 'two'])
    expect(await fired({ context: { project: 'acme/app', scope: 'trading' } })).toEqual(['one'])
    expect(await fired({ project: 'other', context: { project: 'acme/app' } })).toEqual([])
    expect(await fired({ project: 'Acme/App' })).toEqual(['one'])
  })

  test('a violation tells name, message and suggestion', async () => {
    const { violations, warnings } = await verdictOf([
      { id: 'a', name: 'N', description: 'D', message: 'M', suggestion: 'S', condition_phase: 'check' },
      { id: 'b', description: 'D', action: 'warn', condition_phase: 'check' },
      { id: 'c', action: 'log', condition_phase: 'check' },
    ])
    expect(violations).toEqual([
      { guardrail_id: 'a', name: 'N', message: 'M', severity: 'block', suggestion: 'S', error: null },
    ])
    expect(warnings).toEqual([
      { guardrail_id: 'b', name: 'D', message: 'D', severity: 'warn', suggestion: null, error: null },
    ])
  })
})
