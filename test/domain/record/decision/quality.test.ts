/** The quality score: each part has its weight and its suggestion, and nothing else counts. */
import { expect, test } from 'bun:test'
import { quality } from '../../../../src/domain/record/decision/decision.ts'
import { methods } from '../../../../src/methods/table.ts'
import { memoryProgram } from '../../../support/program.ts'
import { recordOf } from '../../../support/record.ts'

const bare = recordOf({ decision: 'x'.repeat(20), context: 'x'.repeat(10) })
const reason = (type: string) => ({ type, text: 't', strength: 1 })

/** What is given, the points it is worth, and a word of the suggestion that then goes away. */
const parts: [string, Partial<typeof bare>, number, RegExp][] = [
  ['pattern', { pattern: 'p' }, 0.15, /pattern/],
  ['tags', { tags: ['t'] }, 0.15, /tags/],
  ['two types of reason', { reasons: [reason('a'), reason('b')] }, 0.15, /reasons/],
  ['bridge', { bridge_method: 'given' }, 0.1, /bridge/],
  ['decision over 20 characters', { decision: 'x'.repeat(21) }, 0.1, /20 characters/],
  ['context over 10 characters', { context: 'x'.repeat(11) }, 0.1, /context/],
  ['project', { project: { name: null, feature: 'f', pr: null, files: [] } }, 0.1, /project/],
  ['protocol, query', { pre_decision_protocol: { query_run: true, guardrails_checked: false } }, 0.05, /precedents/],
  [
    'protocol, guardrails',
    { pre_decision_protocol: { query_run: false, guardrails_checked: true } },
    0.05,
    /precedents/,
  ],
  ['deliberation, input', { deliberation: { inputs: [{ type: 't', content: 'c' }], steps: [] } }, 0.05, /precedents/],
  ['reasoning step', { reasoning_trace: ['t'] }, 0.1, /steps/],
]

test.each(parts)('%s', (_, given, weight, suggestion) => {
  expect(quality(bare).score).toBe(0)
  expect(quality(bare).suggestions.filter((text) => suggestion.test(text))).toHaveLength(1)
  const judged = quality({ ...bare, ...given })
  expect(judged.score).toBe(weight)
  expect(judged.suggestions.filter((text) => suggestion.test(text))).toHaveLength(0)
  expect(judged.suggestions).toHaveLength(quality(bare).suggestions.length - 1)
})

test('a thought counts as a step of the reasoning, and as deliberation', () => {
  const judged = quality({ ...bare, deliberation: { inputs: [], steps: [{ step: 1, thought: 't' }] } })
  expect(judged.score).toBe(0.15)
  expect(judged.suggestions.join(' ')).not.toMatch(/steps|precedents/)
})

test('everything together is exactly 1, with nothing to suggest', () => {
  const all = Object.assign({}, bare, ...parts.map(([, given]) => given))
  expect(quality(all)).toEqual({ score: 1, suggestions: [] })
})

test('what is empty does not count', () => {
  const empty = {
    pattern: '  ',
    reasons: [reason('a'), reason('a')],
    decision: ` ${'x'.repeat(20)} `,
    context: `${'x'.repeat(10)}\n`,
    deliberation: { inputs: [], steps: [] },
    pre_decision_protocol: { query_run: false, guardrails_checked: false },
  }
  expect(quality({ ...bare, ...empty }).score).toBe(0)
})

test('a model can do all that is suggested, with the fields that its tools take', async () => {
  const program = await memoryProgram()
  const tool = (name: string, input: object) => {
    const { mcp, params } = methods.get(`cstp.${name}`)!
    const fields = Object.keys((mcp!.input?.schema ?? params).entries)
    expect(Object.keys(input).filter((field) => !fields.includes(field))).toEqual([])
    return mcp!.input?.toParams(input) as object
  }
  const input = {
    decision: 'Keep the catalogue in one file',
    confidence: 0.8,
    category: 'architecture',
    stakes: 'medium',
    context: 'One server, few writers',
    pattern: 'One writer needs no server',
    tags: ['storage'],
    reasons: [reason('analysis'), reason('pattern')],
    project: 'acme/shop',
  }
  await program.call('queryDecisions', { query: 'catalogue' })
  await program.call('recordThought', { text: 'A server would be one more thing to run' })
  const { decision_id: id, quality: first } = await program.call('recordDecision', tool('recordDecision', input))
  expect(first.suggestions).toHaveLength(1)
  expect(first.suggestions[0]).toContain('bridge with an update')
  await program.call('updateDecision', { id, updates: { bridge: { structure: 'One file', function: 'Simple' } } })
  expect((await program.call('getDecision', { id })).quality).toEqual({ score: 1, suggestions: [] })
})
