/** What is suspicious about rules that load. */
import { describe, expect, test } from 'bun:test'
import { claimsIn, lintRules } from '../../../../src/domain/policy/rules/lint.ts'
import { policyOf } from './rules.ts'

/** `rule kind` of each finding; every rule gets a message, so that only what is asked for is found. */
const found = async (...rules: object[]) => {
  const { rules: loaded } = await policyOf(JSON.stringify(rules.map((rule) => ({ message: 'm', ...rule }))))
  return lintRules(loaded.map(({ rule }) => rule)).flatMap(({ rule, kind }) =>
    kind === 'assumed_match' ? [] : [`${rule} ${kind}`],
  )
}
/** A rule that says nothing of absent fields, and lets them pass. */
const r = (given: object) => ({ id: 'r', action: 'warn', ...given })

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
    [{ condition_x: 'a', conditions: [{ type: 'field', field: 'x', operator: '!=', value: 'a', exact: true }] }],
    [{ condition_x: '>= 5', conditions: [{ type: 'field', field: 'x', operator: '<=', value: 5 }] }],
    [{ conditions: [{ type: 'field', field: 'confidence', operator: '>', value: 1, when_missing: 'match' }] }],
  ])('but not %j', async (given) => {
    expect(await found(r(given))).toEqual([])
  })
})

test('thresholds that no rewording reaches', async () => {
  const semantic = (threshold: number | string) => ({ type: 'semantic', threshold })
  expect(await found(r({ conditions: [semantic(0.8)] }))).toEqual(['r hardly_fires'])
  const inner = { type: 'compound', operator: 'not', conditions: [semantic(0.7)] }
  expect(await found(r({ conditions: [inner] }))).toEqual(['r hardly_fires'])
  for (const threshold of ['auto', 0.69, 0.5]) expect(await found(r({ conditions: [semantic(threshold)] }))).toEqual([])
})

test('fields that were meant to be others', async () => {
  expect(await found(r({ condition_confidense: '< 1' }))).toEqual(['r unknown_field'])
  expect(await found(r({ condition_Stakes: 'high' }))).toEqual(['r unknown_field'])
  expect(await found(r({ condition_x: 1, requires_has_querry: true }))).toEqual(['r unknown_field'])
  expect(await found(r({ 'condition_contxt.amount': '> 5' }))).toEqual(['r unknown_field'])
  expect(await found(r({ condition_x: 1, 'requires_contex.approved': true }))).toEqual(['r unknown_field'])
  expect(await found(r({ 'condition_user.role': 'admin' }))).toEqual([])
  expect(await found(r({ 'condition_context.confidense': '< 1' }))).toEqual([])
  expect(await found(r({ condition_environment: 'x', requires_code_review: true }))).toEqual([])
})

test.each(['not in [a, b]', 'gte 5', 'equals x', 'contain y', 'exist'])(
  'an operator of another language is a text: %s',
  async (text) => {
    expect(await found(r({ 'condition_context.x': text }))).toEqual(['r unknown_operator'])
    expect(await found(r({ 'condition_context.x': `${text}`.replace(/^/, 'what is ') }))).toEqual([])
  },
)

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

test('a rule that blocks where a field is absent, and does not say so', async () => {
  const kinds = async (text: string) =>
    lintRules((await policyOf(text)).rules.map(({ rule }) => rule)).map(({ kind, message }) => [kind, message])
  const field = '{ type: field, field: context.environment, operator: "=", value: production'
  expect(await kinds(`[{ id: r, message: m, conditions: [${field} }] }]`)).toEqual([
    ['assumed_match', expect.stringContaining('actions without context.environment')],
  ])
  for (const said of ['match', 'no_match'])
    expect(await kinds(`[{ id: r, message: m, conditions: [${field}, when_missing: ${said} }] }]`)).toEqual([])
  expect(await kinds(`[{ id: r, message: m, action: warn, conditions: [${field} }] }]`)).toEqual([])
})

test('a rule about the result of a call that stops every call, since none has one before it is made', async () => {
  const messages = async (action: string, when_missing: string) =>
    lintRules(
      (
        await policyOf(
          `[{ id: r, message: m, action: ${action}, conditions: [{ type: field, field: context.result.suspicious, operator: "==", value: true${when_missing} }] }]`,
        )
      ).rules.map(({ rule }) => rule),
    ).map(({ message }) => message)
  const stops = expect.stringContaining('every call before it is made, which has no context.result.suspicious yet')
  for (const said of ['', ', when_missing: match']) expect(await messages('block', said)).toEqual([stops])
  expect(await messages('step_up', ', when_missing: match')).toEqual([stops])
  expect(await messages('block', ', when_missing: no_match')).toEqual([])
  expect(await messages('warn', ', when_missing: match')).toEqual([])
})

test('a rule that blocks on a command and names no tool blocks tools that have no command', async () => {
  const messages = async (...conditions: string[]) =>
    lintRules(
      (await policyOf(`[{ id: r, message: m, conditions: [${conditions.join(',')}] }]`)).rules.map(({ rule }) => rule),
    ).map(({ message }) => message)
  const command = '{ type: field, field: context.command, operator: contains, value: npm publish'
  const other = 'every call of a tool that has no command'
  expect(await messages(`${command} }`)).toEqual([expect.stringContaining(other)])
  const tool = '{ type: field, field: context.tool, operator: "=", value: Bash, when_missing: no_match }'
  expect(await messages(tool, `${command} }`)).toEqual([expect.not.stringContaining(other)])
  expect(await messages(`${command}, when_missing: no_match }`)).toEqual([])
})

test('a block without a message', async () => {
  const { rules } = await policyOf('[{ id: r, condition_stakes: high }, { id: s, action: warn, condition_y: 1 }]')
  expect(lintRules(rules.map(({ rule }) => rule)).map(({ rule, kind, line }) => [rule, kind, line])).toEqual([
    ['r', 'no_message', 1],
  ])
})

describe('trust', () => {
  const kinds = async (trust: string, ...given: object[]) => {
    const text = JSON.stringify({ trust, guardrails: given.map((rule) => ({ message: 'm', ...rule })) })
    const { rules } = await policyOf(text)
    return lintRules(rules.map(({ rule }) => rule)).filter(({ kind }) => kind === 'claims_only')
  }
  const approval = { requires: [{ evidence: 'pr_review_approved' }] }

  test.each<[string, object]>([
    ['a requirement that the context satisfies', { condition_category: 'a', requires_code_review: true }],
    ['two of them', { requires_code_review: true, 'requires_context.tested': true }],
    ['a prohibition that another value evades', { 'condition_context.environment': 'production' }],
    ['one beside a field that the agent gives', { 'condition_context.amount': '> 5', condition_stakes: 'high' }],
    ['an expression', { conditions: [{ type: 'cel', expression: 'action.context.amount > 5' }] }],
    ['what is deferred', { action: 'defer', defer: { reason: 'x' }, 'condition_context.amount': '> 5' }],
  ])('with trust: evidence, %s is an error', async (_, rule) => {
    const [found, ...more] = await kinds('evidence', r({ action: 'block', ...rule }))
    expect(more).toEqual([])
    expect(found!.message).toContain('only the agent vouches for')
    expect(await kinds('claims', r({ action: 'block', ...rule }))).toEqual([])
  })

  test.each<[string, object]>([
    ['evidence', { 'condition_context.environment': 'production', ...approval }],
    ['a claim and evidence', { requires_code_review: true, ...approval }],
    ['an approval', { 'condition_context.environment': 'x', requires: [{ approval: 'release' }] }],
    ['what the service tracked', { condition_stakes: 'high', requires_has_query: true }],
    ['what the agent asks for', { condition_stakes: 'high', condition_confidence: '< 0.5' }],
    ['counts', { conditions: [{ type: 'aggregate', metric: 'count', operator: '>', value: 5, window_days: 1 }] }],
    ['a fact', { 'condition_context.environment': 'x', 'condition_precedents.failed': '> 2' }],
    ['a person', { action: 'step_up', 'condition_context.environment': 'production' }],
    ['nobody: it only warns', { action: 'warn', requires_code_review: true }],
  ])('%s satisfies it', async (_, rule) => expect(await kinds('evidence', r({ action: 'block', ...rule }))).toEqual([]))

  test('of each rule it is said which fields only the agent vouches for', async () => {
    const { rules } = await policyOf(
      JSON.stringify([
        r({ condition_category: 'a', condition_agent_id: 'b', requires_tested: true, ...approval }),
        r({ id: 's', requires_has_query: true, condition_phase: 'record' }),
        r({ id: 't', conditions: [{ type: 'cel', expression: 'action.context.n > 1 && action.stakes == "high"' }] }),
      ]),
    )
    expect(claimsIn(rules.map(({ rule }) => rule)).map(({ rule, fields }) => [rule, fields])).toEqual([
      ['r', ['category', 'context.tested']],
      ['t', ['context.n', 'stakes']],
    ])
  })
})
