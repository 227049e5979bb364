/** cstp.recordDecision: what it requires, keeps, derives and refuses, on every store. */
// biome-ignore-all lint/suspicious/noTemplateCurlyInString: text that must not be taken for a variable

import { describe, expect, test } from 'bun:test'
import { countDecisions } from '../../sdk/storage/groups.ts'
import { forEachBackend } from '../support/program.ts'

const required = { decision: 'Use SQLite', confidence: 0.8, category: 'architecture' }

/** Everything that a caller may give, in the form in which it comes back. */
const everything = {
  ...required,
  stakes: 'high',
  context: 'One machine, no administrator. '.repeat(10),
  reasons: [
    { type: 'technical', text: 'one file', strength: 0.9 },
    { type: 'risk', text: '', strength: 0 },
  ],
  alternatives_considered: ['Postgres', { option: 'Redis', reason: 'not durable', cost: [1, { currency: '€' }] }],
  review_in: '2w',
  project: { name: 'acme/store', feature: 'catalogue', pr: 7, files: ['src/a.ts'] },
  reasoning_trace: ['first', { step: 2, thought: 'second', sure: true }],
  bridge: { structure: 's', function: 'f', tolerance: ['t'], enforcement: ['e'], prevention: ['p'] },
  pre_decision_protocol: { query_run: true, guardrails_checked: false, note: 'n' },
  deliberation: { inputs: [{ type: 'query', content: 'c', extra: null }], steps: [{ step: 1, thought: 't' }] },
  tags: ['db', 'storage'],
  pattern: 'Boring technology first',
  agent_id: 'sub-agent',
}

forEachBackend((open) => {
  test('the least that is given is enough; the rest has its defaults', async () => {
    const { call } = await open()
    const result = await call('recordDecision', required)
    expect(result).toEqual({
      success: true,
      decision_id: expect.stringMatching(/^2026-07-01-decision-[0-9a-f]{12}$/),
      record_id: `${result.decision_id}@1`,
      path: `decisions/2026/07/${result.decision_id}.yaml`,
      indexed: true,
      existing: false,
      guardrails_checked: expect.any(Boolean),
      guardrail_warnings: [],
      bridge_auto: true,
      deliberation_auto: false,
      deliberation_inputs_count: 0,
      related_count: 0,
      quality: expect.any(Object),
      message: expect.any(String),
    })
    expect(await call('getDecision', { id: result.decision_id })).toMatchObject({
      ...required,
      id: result.decision_id,
      title: 'Use SQLite',
      stakes: 'medium',
      context: null,
      reasons: [],
      alternatives_considered: [],
      review_in: '7d',
      review_by: '2026-07-08',
      project: null,
      status: 'pending',
      outcome: null,
      date: '2026-07-01',
      created_at: '2026-07-01T12:00:00.000Z',
      recorded_by: 'alice',
      agent_id: null,
      bridge_method: 'rule',
    })
  })

  test('nothing that is given is dropped', async () => {
    const { call, record } = await open()
    const found = await call('getDecision', { id: await record(everything) })
    expect(found).toMatchObject(everything as object)
    expect(found).toMatchObject({ recorded_by: 'alice', bridge_method: 'given' })
  })

  test('text comes back as it went in', async () => {
    const { call, record } = await open()
    const texts = [
      ...[
        '---\n- a: b',
        '"quoted"',
        "it's",
        '# comment',
        '&a *a !!str',
        'yes',
        'null',
        '~',
        '1e3',
        '0x1f',
        '2026-07-01',
      ],
      ...[
        ' lead',
        'trail ',
        'tab\tbed',
        'a\r\nb',
        ' \n',
        '\n\n\n',
        'NUL \0 here',
        '\u0085\u2028\u2029\ufeff',
        '😀 數 é e\u0301',
      ],
      ...['\uffff\ufffe', '\x1b[31m', '${HOME}', '%TAG ! x', '- - -', '? key', '|', '>-', '{a: [b', 'x'.repeat(9_000)],
    ]
    for (const text of texts) {
      const given = { decision: `a${text}`, context: text, pattern: text, reasons: [{ type: 'a', text, strength: 1 }] }
      expect(await call('getDecision', { id: await record(given) })).toMatchObject(given)
    }
    const given = { alternatives_considered: texts.map((text) => ({ option: text, [`k${text}`.slice(0, 900)]: text })) }
    expect(await call('getDecision', { id: await record(given) })).toMatchObject(given)
  })

  test('the text of a project is its name, and a strength that is not given is 0.8', async () => {
    const { call, record } = await open()
    const id = await record({ project: 'acme/store', reasons: [{ type: 'a', text: 'b' }], tags: ['x', 'y', 'x'] })
    expect(await call('getDecision', { id })).toMatchObject({
      project: { name: 'acme/store', feature: null, pr: null, files: [] },
      reasons: [{ strength: 0.8 }],
      tags: ['x', 'y'],
    })
  })

  describe('is refused', () => {
    const of = (size: number, entry: unknown = 'x') => Array(size).fill(entry)
    test.each<[string, object, string]>([
      ['no decision', { decision: undefined }, 'decision'],
      ['a blank one', { decision: ' \n\t' }, 'decision'],
      ['an empty one', { decision: '' }, 'decision'],
      ['10 001 characters', { decision: 'x'.repeat(10_001) }, 'decision'],
      ['no confidence', { confidence: undefined }, 'confidence'],
      ['a confidence over 1', { confidence: 1.0001 }, 'confidence'],
      ['a confidence under 0', { confidence: -0.1 }, 'confidence'],
      ['a confidence as text', { confidence: '0.5' }, 'confidence'],
      ['no category', { category: undefined }, 'category'],
      ['a category of 65 characters', { category: 'x'.repeat(65) }, 'category'],
      ['an unknown stake', { stakes: 'huge' }, 'stakes'],
      ['a context of 100 001 characters', { context: 'x'.repeat(100_001) }, 'context'],
      ['101 reasons', { reasons: of(101, { type: 'a', text: 'b' }) }, 'reasons'],
      ['a reason of 10 001 characters', { reasons: [{ type: 'a', text: 'x'.repeat(10_001) }] }, 'reasons.0.text'],
      ['a reason without a type', { reasons: [{ text: 'b' }] }, 'reasons.0.type'],
      ['a reason stronger than 1', { reasons: [{ type: 'a', text: 'b', strength: 2 }] }, 'reasons.0.strength'],
      ['51 alternatives', { alternatives_considered: of(51) }, 'alternatives_considered'],
      [
        'an alternative without option',
        { alternatives_considered: [{ reason: 'a' }] },
        'alternatives_considered.0.option',
      ],
      ['51 tags', { tags: Array.from({ length: 51 }, (_, index) => `t${index}`) }, 'tags'],
      ['a tag of 65 characters', { tags: ['x'.repeat(65)] }, 'tags.0'],
      ['a review without unit', { review_in: '7' }, 'review_in'],
      ['a review in years', { review_in: '1y' }, 'review_in'],
      ['a review at once', { review_in: '0d' }, 'review_in'],
      ['a pull request 0', { project: { pr: 0 } }, 'project.pr'],
      ['a project as a number', { project: 5 }, 'project'],
      ['a step that is no number', { reasoning_trace: [{ step: 'a', thought: 'b' }] }, 'reasoning_trace.0.step'],
      ['a bridge without function', { bridge: { structure: 'a' } }, 'bridge.function'],
      [
        'a lone surrogate in free-form values',
        { alternatives_considered: [{ option: 'a', b: ['\ud800'] }] },
        'alternatives_considered.0.b.0',
      ],
      ['an unknown parameter', { confidense: 1 }, 'confidense'],
    ])('%s', async (_, given, path) => {
      const { refused, store } = await open()
      const error = await refused('recordDecision', JSON.parse(JSON.stringify({ ...required, ...given })))
      expect(error).toMatchObject({ error: 'invalid_params', data: { issues: [{ path }] } })
      expect(await countDecisions(store.decisions, {})).toBe(0)
      expect(await store.audit.list({ limit: 10 })).toEqual([])
    })
  })

  test('at the limits it is taken', async () => {
    const { call, record } = await open()
    const given = {
      decision: 'x'.repeat(10_000),
      context: 'y'.repeat(100_000),
      category: 'c'.repeat(64),
      confidence: 0,
      tags: Array.from({ length: 50 }, (_, index) => `t${index}`),
      reasons: Array(100).fill({ type: 'r'.repeat(64), text: 'z', strength: 1 }),
      alternatives_considered: Array(50).fill('a'),
      review_in: '9999m',
    }
    expect(await call('getDecision', { id: await record(given) })).toMatchObject(given)
  })

  test('is audited in its own transaction', async () => {
    const { record, store } = await open()
    const id = await record()
    expect(await store.audit.list({ limit: 10 })).toMatchObject([
      { at: '2026-07-01T12:00:00.000Z', agent: 'alice', method: 'cstp.recordDecision', request_id: 'r0', ids: [id] },
    ])
  })

  test('100 at once are 100', async () => {
    const { record, store } = await open()
    const ids = await Promise.all(Array.from({ length: 100 }, (_, index) => record({ decision: `Number ${index}` })))
    expect(new Set(ids).size).toBe(100)
    expect(await countDecisions(store.decisions, { indexed: true })).toBe(100)
  })
})
