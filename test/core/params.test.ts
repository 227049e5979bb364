/** Parameters as they come: both spellings, unknown names, and what is refused before a schema sees it. */
import { describe, expect, test } from 'bun:test'
import * as v from 'valibot'
import type { CstpError, Issue } from '../../sdk/errors.ts'
import { nearest } from '../../sdk/nearest.ts'
import { compileParams } from '../../src/core/params.ts'
import * as fc from '../support/property.ts'

const identifier = v.pipe(v.string(), v.metadata({ identifier: true }), v.description('an id'))

const parse = compileParams(
  v.object({
    id: v.optional(identifier),
    retrieval_mode: v.optional(v.picklist(['semantic', 'keyword'])),
    max_2_words: v.optional(v.number()),
    filters: v.optional(v.object({ min_confidence: v.optional(v.number()), has_outcome: v.optional(v.boolean()) }), {}),
    reasons: v.optional(
      v.pipe(v.array(v.object({ reason_type: v.string() })), v.maxLength(3), v.description('why')),
      [],
    ),
    project: v.optional(v.nullable(v.union([v.string(), v.object({ repo_name: v.string() })]))),
    stakes: v.optional(v.union([v.string(), v.pipe(v.array(v.string()), v.maxLength(2))])),
    protocol: v.optional(v.looseObject({ query_run: v.optional(v.boolean()) })),
    context: v.optional(v.unknown()),
  }),
)

function issuesOf(raw: unknown, check: (raw: unknown) => unknown = parse): Issue[] {
  try {
    check(raw)
  } catch (error) {
    expect((error as CstpError).error).toBe('invalid_params')
    return (error as CstpError).data?.issues as Issue[]
  }
  throw new Error('was not refused')
}

describe('spelling', () => {
  test.each([
    [{ retrievalMode: 'keyword' }, { retrieval_mode: 'keyword' }],
    [{ max2Words: 1 }, { max_2_words: 1 }],
    [{ filters: { minConfidence: 0.5, has_outcome: true } }, { filters: { min_confidence: 0.5, has_outcome: true } }],
    [
      { reasons: [{ reasonType: 'a' }, { reason_type: 'b' }] },
      { reasons: [{ reason_type: 'a' }, { reason_type: 'b' }] },
    ],
    [{ project: { repoName: 'a' } }, { project: { repo_name: 'a' } }],
    [{ project: 'a/b' }, { project: 'a/b' }],
    [{ project: null }, { project: null }],
    [{ protocol: { queryRun: true, ownKey: 1 } }, { protocol: { query_run: true, ownKey: 1 } }],
    [{ decision_id: 'x' }, { id: 'x' }],
    [{ decisionId: 'x' }, { id: 'x' }],
  ])('%j', (raw, expected) => expect(parse(raw)).toMatchObject(expected))

  test('an identifier named decision_id is taken as id', () => {
    const check = compileParams(v.object({ decision_id: identifier }))
    expect(check({ id: 'x' })).toEqual({ decision_id: 'x' })
    expect(check({ decisionId: 'x' })).toEqual({ decision_id: 'x' })
  })

  test('where both names are declared, neither stands for the other', () => {
    const check = compileParams(v.object({ id: identifier, decision_id: v.optional(v.string()) }))
    expect(check({ id: 'x', decision_id: 'y' })).toEqual({ id: 'x', decision_id: 'y' })
  })

  test('what is no identifier has no such alias', () => {
    expect(issuesOf({ id: 'x' }, compileParams(v.object({ decision_id: v.optional(v.string()) })))).toHaveLength(1)
  })

  test.each([
    [{ retrieval_mode: 'keyword', retrievalMode: 'keyword' }, 'retrievalMode'],
    [{ retrievalMode: 'keyword', retrieval_mode: 'keyword' }, 'retrieval_mode'],
    [{ id: 'x', decision_id: 'x' }, 'decision_id'],
    [{ decision_id: 'x', decisionId: 'x' }, 'decisionId'],
    [{ filters: { min_confidence: 1, minConfidence: 1 } }, 'filters.minConfidence'],
    [{ reasons: [{ reason_type: 'a' }, { reason_type: 'a', reasonType: 'a' }] }, 'reasons.1.reasonType'],
    [{ protocol: { queryRun: true, query_run: true } }, 'protocol.query_run'],
  ])('both spellings at once are refused: %j', (raw, path) => {
    expect(issuesOf(raw)).toMatchObject([{ path, message: expect.stringContaining('given twice') }])
  })

  test('free-form objects keep their keys', () => {
    const context = { retrievalMode: 1, retrieval_mode: 2, decision_id: 3, id: 4, 'a.b': { C: [{ dE: null }] } }
    expect(parse({ context })).toMatchObject({ context })
  })
})

describe('unknown parameters', () => {
  test.each([
    [{ retreival_mode: 'keyword' }, 'retreival_mode', 'retrieval_mode'],
    [{ retreivalMode: 'keyword' }, 'retreivalMode', 'retrieval_mode'],
    [{ filter: {} }, 'filter', 'filters'],
    [{ filters: { minconfidence: 1 } }, 'filters.minconfidence', 'min_confidence'],
    [{ reasons: [{ reason_type: 'a' }, { reasontype: 'a' }] }, 'reasons.1.reasontype', 'reason_type'],
    [{ project: { reponame: 'a' } }, 'project.reponame', 'repo_name'],
  ])('name the nearest: %j', (raw, path, expected) => {
    expect(issuesOf(raw)).toMatchObject([
      { path, expected, message: `unknown parameter; did you mean ${expected}?`, received: path.split('.').at(-1) },
    ])
  })

  test('without a near one all are named', () => {
    expect(issuesOf({ filters: { zzzzzzzz: 1 } })[0]!.message).toBe(
      'unknown parameter; known are min_confidence, has_outcome',
    )
    expect(issuesOf({ x: 1 }, compileParams(v.object({})))[0]!.message).toBe('unknown parameter; there are none')
  })

  test.each(['__proto__', 'constructor', 'prototype', 'toString', 'hasOwnProperty', '', ' id', 'ID'])(
    '%j is one',
    (key) => {
      const [issue] = issuesOf(JSON.parse(JSON.stringify({ x: 1 }).replace('"x"', JSON.stringify(key))))
      expect(issue).toMatchObject({ path: key, received: key })
      expect(({} as Record<string, unknown>).polluted).toBeUndefined()
    },
  )

  test('a free-form object refuses the names that its schema would drop', () => {
    for (const key of ['__proto__', 'constructor', 'prototype'])
      expect(issuesOf(JSON.parse(`{"protocol":{"${key}":{"polluted":true}}}`))).toMatchObject([
        { path: `protocol.${key}`, message: 'a key of this name cannot be kept' },
      ])
    const context = JSON.parse('{"__proto__":{"a":1},"constructor":2}')
    expect(JSON.stringify(parse({ context }))).toContain('{"__proto__":{"a":1},"constructor":2}')
  })
})

describe('values', () => {
  test('a missing one says so, a wrong one says what was expected', () => {
    const check = compileParams(v.object({ query: v.string(), limit: v.pipe(v.number(), v.maxValue(5, 'at most 5')) }))
    expect(issuesOf({ limit: '1' }, check)).toEqual([
      { path: 'query', message: 'is required', expected: 'a value', received: 'undefined' },
      { path: 'limit', message: 'expected number, received "1"', expected: 'number', received: '"1"' },
    ])
    expect(issuesOf({ query: '', limit: 6 }, check)).toEqual([
      { path: 'limit', message: 'expected at most 5, received 6', expected: 'at most 5', received: '6' },
    ])
    expect(issuesOf({ query: null, limit: 1 }, check)).toMatchObject([{ path: 'query', received: 'null' }])
  })

  test('of a union the option that got furthest speaks', () => {
    expect(issuesOf({ project: { repo_name: 5 } })).toMatchObject([{ path: 'project.repo_name', expected: 'string' }])
    expect(issuesOf({ project: 5 })).toMatchObject([
      { path: 'project', expected: 'string or an object', received: '5' },
    ])
  })

  test('an object and an array are called that, not what they hold', () => {
    const check = compileParams(v.object({ query: v.string(), limit: v.number() }))
    expect(issuesOf({ query: { a: 1 }, limit: [1] }, check)).toMatchObject([
      { path: 'query', received: 'an object', message: 'expected string, received an object' },
      { path: 'limit', received: 'an array', message: 'expected number, received an array' },
    ])
    for (const limit of ['Array', 'no Array here'])
      expect(issuesOf({ query: 'Object', limit }, check)).toMatchObject([{ path: 'limit', received: `"${limit}"` }])
  })

  test('an array in place of an object is refused, though a schema without required members would take it', () => {
    expect(issuesOf({ filters: [] })).toMatchObject([{ path: 'filters', expected: 'an object', received: 'an array' }])
    expect(issuesOf({ reasons: [[]] })).toMatchObject([{ path: 'reasons.0', expected: 'an object' }])
    expect(issuesOf({ project: [] })).toMatchObject([{ path: 'project', expected: 'an object' }])
    expect(issuesOf({ protocol: [] })).toMatchObject([{ path: 'protocol', expected: 'an object' }])
  })

  test.each([[null], [[]], [[1]], ['text'], [5], [true]])('%j in place of the parameters', (raw) => {
    expect(issuesOf(raw)).toMatchObject([{ path: '', expected: 'an object of named parameters' }])
  })

  test.each([
    ['{"context":{"a":["\\ud800"]}}', 'context.a.0', 'well-formed Unicode text'],
    ['{"context":{"a\\udc00b":1}}', 'context.a\ufffdb', 'well-formed Unicode text'],
    ['{"id":"\\ud83d"}', 'id', 'well-formed Unicode text'],
    ['{"\\ud83d":1}', '\ufffd', 'well-formed Unicode text'],
    ['{"context":{"a":{"b":1e999}}}', 'context.a.b', 'a finite number'],
    ['{"max_2_words":-1e999}', 'max_2_words', 'a finite number'],
  ])('text that no store can keep is refused at any depth: %s', (raw, path, expected) => {
    expect(issuesOf(JSON.parse(raw))).toMatchObject([{ path, expected }])
  })

  test('whole pairs, NUL and every other character pass', () => {
    const context = { text: '😀\0\u2028\ufeff\uffff', '😀\0': 1 }
    expect(parse({ context })).toMatchObject({ context })
  })

  test('64 levels pass, one more does not', () => {
    const nested = (levels: number) => JSON.parse(`${'['.repeat(levels)}${']'.repeat(levels)}`)
    expect(parse({ context: nested(63) })).toBeDefined()
    expect(issuesOf({ context: nested(64) })).toMatchObject([{ expected: 'at most 64 levels' }])
    expect(issuesOf({ context: nested(500_000) })[0]!.path.length).toBeLessThan(110)
  })
})

describe('many and large', () => {
  test('at most 20 issues are reported', () => {
    const unknown = Object.fromEntries(Array.from({ length: 30 }, (_, index) => [`unknown${index}`, 1]))
    expect(issuesOf(unknown)).toHaveLength(20)
    const check = compileParams(v.object({ list: v.array(v.string()) }))
    expect(issuesOf({ list: Array(30).fill(1) }, check)).toHaveLength(20)
  })

  test('an array over its bound is refused as a whole', () => {
    expect(issuesOf({ reasons: [1, 2, 3, 4] })).toMatchObject([
      { path: 'reasons', expected: 'at most 3 entries', received: '4' },
    ])
    expect(issuesOf({ stakes: ['a', 'b', 'c'] })).toMatchObject([{ path: 'stakes', expected: 'at most 2 entries' }])
    expect(parse({ stakes: ['a', 'b'] })).toMatchObject({ stakes: ['a', 'b'] })
  })

  test('keys, paths and values in an issue are cut', () => {
    const long = 'x'.repeat(1_000)
    for (const raw of [{ [long]: 1 }, { retrieval_mode: long }, { filters: { [long]: 1 } }, { stakes: { [long]: 1 } }])
      for (const issue of issuesOf(raw))
        for (const text of [issue.path, issue.expected, issue.received]) expect(text.length).toBeLessThan(220)
  })

  const wide = (entry: (index: number) => string) => Array.from({ length: 200_000 }, (_, i) => entry(i)).join(',')
  test.each([
    ['unknown keys', () => `{${wide((index) => `"unknown_parameter_${index}":1`)}}`],
    ['unknown keys inside', () => `{"filters":{${wide((index) => `"min_confidenc${index}":1`)}}}`],
    ['wrong entries', () => `{"reasons":[${wide(() => '1')}]}`],
    ['wrong objects', () => `{"reasons":[${wide((index) => `{"k${index}":1}`)}]}`],
    ['a wide free-form object', () => `{"protocol":{${wide((index) => `"k${index}":[[]]`)}}}`],
  ])('a megabyte of it is judged: %s', (_, make) => {
    const raw = JSON.parse(make())
    try {
      parse(raw)
    } catch (error) {
      expect((error as CstpError).error).toBe('invalid_params')
      expect((error as CstpError).message.length).toBeLessThan(10_000)
    }
  })
})

describe('members one by one', () => {
  const upper = v.transform((text: string) => text.toUpperCase())
  let counted = 0
  const schema = v.object({
    id: v.pipe(v.string(), v.minLength(1)),
    limit: v.optional(v.pipe(v.number(), v.integer()), 20),
    name: v.optional(v.pipe(v.string(), upper), 'ann'),
    shown: v.pipe(v.optional(v.boolean(), false), v.description('what a schema says of itself')),
    made: v.optional(v.string(), () => String(counted++)),
    later: v.pipe(
      v.optional(v.string()),
      v.transform((text) => text ?? 'none'),
    ),
    none: v.nullish(v.string(), null),
    list: v.optional(v.array(v.number()), [1]),
    any: v.optional(v.unknown()),
    one: v.optional(v.union([v.string(), v.array(v.string())])),
  })
  const loose = v.object({ kept: v.unknown(), note: v.optional(v.string()) })
  const value = fc.oneof(
    fc.constantFrom(null, '', 'a', 1, 1.5, true, false, [], ['a'], [1]),
    fc.constantFrom('a', 2, true),
  )
  const raw = fc.dictionary(fc.constantFrom(...Object.keys(schema.entries)), value, { maxKeys: 8 })
  const rawLoose = fc.dictionary(fc.constantFrom('kept', 'note'), value)

  test.each([
    ['with defaults', schema, raw],
    ['with a member that may be anything', loose, rawLoose],
  ])('make what the whole schema makes: %s', (_, of, given) => {
    const check = compileParams(of as typeof schema)
    fc.assert(
      fc.property(given, (params) => {
        counted = 0
        const expected = v.safeParse(of as typeof schema, params)
        counted = 0
        if (expected.success) expect(JSON.stringify(check(params))).toBe(JSON.stringify(expected.output))
        else expect(() => check(params)).toThrow()
      }),
    )
  })

  test('a value that is new each time is no one else\u2019s', () => {
    const check = compileParams(v.object({ list: v.optional(v.array(v.number()), [1]) }))
    check({}).list.push(2)
    expect(check({})).toEqual({ list: [1] })
  })
})

test('the nearest name is near, whatever its spelling', () => {
  const names = ['cstp.getDecision', 'cstp.getStats', 'retrieval_mode']
  expect(nearest('cstp.getDecison', names)).toBe('cstp.getDecision')
  expect(nearest('retrievalMode', names)).toBe('retrieval_mode')
  expect(nearest('something else', names)).toBeNull()
  expect(nearest('x'.repeat(1_000_000), names)).toBeNull()
  expect(nearest('a', [])).toBeNull()
  const parts = ['alternatives_considered', 'decision_id', 'agent_id', 'project']
  expect(['alternatives', 'considered', 'agent', 'id', 'ternatives'].map((given) => nearest(given, parts))).toEqual([
    'alternatives_considered',
    'alternatives_considered',
    'agent_id',
    null,
    null,
  ])
})
