/** What is suspicious about rules that load. */
import { describe, expect, test } from 'bun:test'
import { lintRules } from '../../../src/domain/guardrail/lint.ts'
import { policyOf } from './rules.ts'

/** `rule kind` of each finding; every rule gets a message, so that only what is asked for is found. */
const found = async (...rules: object[]) => {
  const { rules: loaded } = await policyOf(JSON.stringify(rules.map((rule) => ({ message: 'm', ...rule }))))
  return lintRules(loaded.map(({ rule }) => rule)).map(({ rule, kind }) => `${rule} ${kind}`)
}
const r = (given: object) => ({ id: 'r', ...given })

describe('rules that can never fire', () => {
  test.each([
    [{ condition_confidence: '> 1' }],
    [{ condition_quality_score: '< 0' }],
    [{ condition_stakes: 'huge' }],
    [{ condition_phase: 'in [checking]' }],
    [{ condition_stakes: 'in []' }],
    [{ condition_x: '> 5', conditions: [{ type: 'field', field: 'x', operator: '<', value: 5 }] }],
    [{ condition_x: '> 5', conditions: [{ type: 'field', field: 'context.x', operator: '<=', value: 5 }] }],
    [{ condition_x: 'a', conditions: [{ type: 'field', field: 'x', operator: '=', value: 'b' }] }],
    [{ condition_x: ['a', 'b'], conditions: [{ type: 'field', field: 'x', operator: 'not_in', value: ['a', 'b'] }] }],
    [{ condition_x: 'exists', conditions: [{ type: 'field', field: 'x', operator: 'exists', value: false }] }],
    [
      {
        conditions: [
          {
            type: 'compound',
            operator: 'and',
            conditions: [{ type: 'field', field: 'confidence', operator: '>', value: 2 }],
          },
        ],
      },
    ],
  ])('%j', async (given) => {
    expect(await found(r(given))).toContain('r never_fires')
  })

  test.each([
    [{ condition_confidence: '>= 1' }],
    [{ condition_stakes: 'in [huge, high]' }],
    [{ condition_x: '>= 5', conditions: [{ type: 'field', field: 'x', operator: '<=', value: 5 }] }],
    [{ conditions: [{ type: 'field', field: 'confidence', operator: '>', value: 1, when_missing: 'match' }] }],
  ])('but not %j', async (given) => {
    expect(await found(r(given))).toEqual([])
  })
})

test('fields that were meant to be others', async () => {
  expect(await found(r({ condition_confidense: '< 1' }))).toEqual(['r unknown_field'])
  expect(await found(r({ condition_Stakes: 'high' }))).toEqual(['r unknown_field'])
  expect(await found(r({ condition_x: 1, requires_has_querry: true }))).toEqual(['r unknown_field'])
  expect(await found(r({ 'condition_context.confidense': '< 1' }))).toEqual([])
  expect(await found(r({ condition_environment: 'x', requires_code_review: true }))).toEqual([])
})

test('requirements that nobody meets', async () => {
  expect(await found(r({ condition_x: 1, requires_confidence: true }))).toEqual(['r contradiction'])
  expect(await found(r({ condition_reviewed: false, requires_reviewed: true }))).toEqual(['r contradiction'])
  expect(await found(r({ condition_reviewed: true, requires_reviewed: true }))).toEqual(['r never_fires'])
  expect(await found(r({ requires_ok: true }), { id: 's', condition_ok: true })).toEqual(['r contradiction'])
})

test('rules that another one covers', async () => {
  const wide = { id: 'wide', condition_x: '> 5' }
  expect(await found(wide, { id: 'narrow', condition_x: '> 5', condition_y: 1 })).toEqual(['narrow shadowed'])
  expect(await found({ ...wide, action: 'warn' }, { id: 'narrow', condition_x: '> 5', condition_y: 1 })).toEqual([])
  expect(await found({ ...wide, scope: 'a' }, { id: 'narrow', condition_x: '> 5', condition_y: 1 })).toEqual([])
  expect(await found({ ...wide, requires_ok: true }, { id: 'narrow', condition_x: '> 5' })).toEqual(['wide shadowed'])
  expect(await found(wide, { id: 'twin', condition_x: '> 5' })).toEqual(['twin shadowed'])
})

test('a block without a message', async () => {
  const { rules } = await policyOf('[{ id: r, condition_x: 1 }, { id: s, action: warn, condition_y: 1 }]')
  expect(lintRules(rules.map(({ rule }) => rule)).map(({ rule, kind, line }) => [rule, kind, line])).toEqual([
    ['r', 'no_message', 1],
  ])
})
