/** A consumed session as the deliberation of a record. */
import { describe, expect, test } from 'bun:test'
import { newRecord } from '../../../../src/domain/record/decision/decision.ts'
import {
  deliberationOf,
  queryInput,
  relatedTo,
  relationsOf,
  takeSession,
} from '../../../../src/domain/record/deliberation/inputs.ts'
import type { Session, SessionInput } from '../../../../src/domain/record/deliberation/sessions.ts'
import { sessionKey } from '../../../../src/domain/record/deliberation/tracker.ts'
import * as fc from '../../../support/property.ts'
import { draftOf, recordOf, testStart, textOf } from '../../../support/record.ts'

const at = '2026-07-01T12:00:00.000Z'
const input = (given: Partial<SessionInput> = {}): SessionInput => ({
  id: 'i',
  type: 'query',
  text: 'what was done before?',
  source: 'cstp.queryDecisions',
  timestamp: at,
  data: null,
  ...given,
})
const session = (inputs: SessionInput[]): Session => ({
  key: 'alice',
  agent: 'alice',
  inputs,
  dropped: 0,
  created_ms: 0,
  updated_ms: 0,
})
/** Without vectors of the decision; nothing is noise. */
const asked = { distances: null, noise_distance: 2 }
const query = (...hits: [string, number | null][]) =>
  input({ data: { hits: hits.map(([id, distance]) => ({ id, title: `title of ${id}`, distance })) } })

describe('related decisions', () => {
  test('nearest first, each once at its least distance, without keyword hits and itself', () => {
    const given = session([query(['a', 0.5], ['b', 0.2], ['k', null]), query(['a', 0.1], ['self', 0], ['c', 0.2])])
    expect(relatedTo(given, 'self', asked)).toEqual([
      { id: 'a', summary: 'title of a', distance: 0.1 },
      { id: 'b', summary: 'title of b', distance: 0.2 },
      { id: 'c', summary: 'title of c', distance: 0.2 },
    ])
  })

  test('by their distance from the decision itself, whatever the question was; none at the distance of noise', () => {
    const given = session([query(['a', 0.1], ['b', 0.9], ['c', 0.2], ['k', null])])
    const distances = new Map([
      ['a', 1.04],
      ['b', 0.3],
      ['k', 0.78],
    ])
    expect(relatedTo(given, 'self', { distances, noise_distance: 0.78 })).toEqual([
      { id: 'b', summary: 'title of b', distance: 0.3 },
      { id: 'k', summary: 'title of k', distance: 0.78 },
    ])
    expect(relatedTo(given, 'self', { distances: null, noise_distance: 0.15 }).map(({ id }) => id)).toEqual(['a'])
  })

  test('ten at most, whatever was asked', () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.array(fc.tuple(fc.constantFrom(...'abcdefghijklmnop'), fc.double({ min: 0, max: 2, noNaN: true }))),
        ),
        (queries) => {
          const found = relatedTo(session(queries.map((hits) => query(...hits))), 'self', asked)
          expect(found.length).toBe(Math.min(10, new Set(queries.flat().map(([id]) => id)).size))
          expect(found.map(({ distance }) => distance)).toEqual(
            found.map((one) => one.distance).sort((a, b) => a! - b!),
          )
        },
      ),
    )
  })

  test('what is stored otherwise than a query leaves it is no hit', () => {
    for (const data of [null, 'x', 3, [], { hits: 'x' }, {}])
      expect(relatedTo(session([input({ data })]), 's', asked)).toEqual([])
  })
})

test('inputs and thoughts become steps in their order, after those that were given', () => {
  const given = { inputs: [{ type: 'note', content: 'n' }], steps: [{ step: 4, thought: 'first' }] }
  const thought = input({ id: 'j', type: 'thought', text: 'so it is', source: 'cstp.recordThought' })
  expect(deliberationOf(given, session([input(), thought]))).toEqual({
    inputs: [
      { type: 'note', content: 'n' },
      { id: 'i', type: 'query', content: 'what was done before?', source: 'cstp.queryDecisions', timestamp: at },
    ],
    steps: [
      { step: 4, thought: 'first' },
      { step: 5, type: 'query', thought: 'what was done before?', timestamp: at, input_id: 'i' },
      { step: 6, type: 'reasoning', thought: 'so it is', timestamp: at },
    ],
  })
})

test('each related decision has an edge, as strong as it is near', () => {
  const noted = session([query(['a', 0.3], ['b', 2])])
  const { links, related_to } = relationsOf(noted, 'self', at, asked)
  const { pre_decision_protocol } = takeSession(recordOf(), noted)
  expect(related_to.length).toBe(2)
  expect(links).toEqual([
    {
      target_id: 'a',
      edge_type: 'relates_to',
      weight: 0.85,
      context: null,
      created_at: at,
      created_by: 'auto-link',
      effective: true,
    },
    {
      target_id: 'b',
      edge_type: 'relates_to',
      weight: 0,
      context: null,
      created_at: at,
      created_by: 'auto-link',
      effective: true,
    },
  ])
  expect(pre_decision_protocol).toEqual({ query_run: true, guardrails_checked: false })
})

test('a new record has what its session noted, and its quality counts that', () => {
  const made = (inputs: Session | null) =>
    newRecord(draftOf(), testStart, testStart, '0123456789ab', inputs && takeSession(draftOf(), inputs))
  const [before, after] = [made(null), made(session([query(['a', 0.3])]))]
  expect(before.pre_decision_protocol).toEqual({ query_run: false, guardrails_checked: false })
  expect(after.pre_decision_protocol).toEqual({ query_run: true, guardrails_checked: false })
  expect(after.quality.score).toBeCloseTo(before.quality.score + 0.15, 10)
  expect(after.deliberation?.inputs).toHaveLength(1)
  expect(Object.keys(after)).toEqual(Object.keys(before))
})

test('a query leaves its ten best hits', () => {
  const hits = Array.from({ length: 12 }, (_, number) => {
    return { text: textOf(recordOf()), distance: number / 100, superseded_by: null, scores: null }
  })
  const { data } = queryInput('q', hits)
  expect(relatedTo(session([input({ data })]), 'self', asked).map(({ id }) => id)).toEqual(
    hits.slice(0, 10).map(({ text }) => text.id),
  )
})

test('a protocol that the caller states is stored with the observed one', () => {
  const record = recordOf({
    pre_decision_protocol: { query_run: false, guardrails_checked: true, asked: 'a colleague' },
  })
  const { pre_decision_protocol } = takeSession(record, session([query()]))
  expect(pre_decision_protocol).toEqual({ query_run: true, guardrails_checked: true, asked: 'a colleague' })
})

test('no two names share a key', () => {
  const part = fc.option(
    fc.string({ minLength: 1, maxLength: 8, unit: fc.constantFrom('a', '|', ':', 'as:', 'scope:', '%') }),
  )
  const name = fc.record({ agent: fc.constantFrom('a', 'b'), agent_id: part, scope: part })
  fc.assert(
    fc.property(name, name, (one, other) => {
      const same = (x: typeof one) => [x.agent, x.agent_id === x.agent ? null : x.agent_id, x.scope]
      expect(sessionKey(one) === sessionKey(other)).toBe(JSON.stringify(same(one)) === JSON.stringify(same(other)))
    }),
  )
})
