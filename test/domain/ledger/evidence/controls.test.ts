/** The rules engine: what supports a control, what does not, and that no payload can break it. */
import { expect, test } from 'bun:test'
import { mapEvidence } from '../../../../src/domain/ledger/evidence/controls.ts'
import { mappedText } from '../../../../src/domain/ledger/evidence/mapped-text.ts'
import { loadControls } from '../../../../src/policy/files.ts'
import { chainOf, event, link, story } from '../../../support/evidence/events.ts'
import * as fc from '../../../support/property.ts'

const rules = loadControls()
const yieldToEventLoop = async () => {}

interface Entry {
  seq: number
  function_id: string
  evidence_class: string
  reason?: string
  pr_number: number | null
}

async function map(events: Parameters<typeof chainOf>[0]) {
  const evidence = await chainOf(events)
  const mapped = await mapEvidence(evidence, rules, (await evidence.head()).seq, yieldToEventLoop)
  return JSON.parse([...mappedText(mapped)].join('')) as {
    mappings: Entry[]
    insufficient_evidence: Entry[]
    insufficient_evidence_count: number
    unmapped: { seq: number; pr_number: number | null }[]
    coverage: Record<'observed' | 'attested', Record<string, unknown>>
    attested_only_controls: string[]
    next_seq: number | null
  }
}
const ids = (entries: Entry[]) => entries.map(({ function_id }) => function_id)
const none = { total_events: 0, mapped_events: 0, unmapped_events: 0, coverage_pct: 0, by_source: [] }

test('an empty chain covers nothing, and that is 0', async () => {
  expect(await map([])).toEqual({
    mappings: [],
    insufficient_evidence: [],
    insufficient_evidence_count: 0,
    unmapped: [],
    coverage: { observed: none, attested: none },
    attested_only_controls: [],
    next_seq: null,
  })
})

test('pages of the lists are no longer than they may be, and together the whole', async () => {
  const odd = fc.constantFrom('pr_opened', 'pr_review_approved', 'pr_merged', 'ci_completed', 'Zoë \u2028 "x"')
  const one = fc.tuple(odd, fc.record({ pr_number: fc.nat(), actor_is_human: fc.boolean() }, { requiredKeys: [] }))
  const lists = ['mappings', 'insufficient_evidence', 'unmapped'] as const
  await fc.assert(
    fc.asyncProperty(fc.array(one, { maxLength: 40 }), fc.nat({ max: 12_000 }), async (given, room) => {
      const evidence = await chainOf(given.map(([type, payload]) => event(type, payload)))
      const mapped = await mapEvidence(evidence, rules, given.length, yieldToEventLoop)
      const { next_seq: _, ...whole } = JSON.parse([...mappedText(mapped)].join(''))
      // 64 KiB are kept free for what is around the lists.
      const max_bytes = 65_536 + 1_000 + room
      const found: Record<string, unknown[]> = { mappings: [], insufficient_evidence: [], unmapped: [] }
      for (let seq_from: number | null = 1; seq_from !== null; ) {
        const text = [...mappedText(mapped, { seq_from, max_bytes })].join('')
        const { next_seq, shortened, ...page } = JSON.parse(text)
        const events = new Set(lists.flatMap((list) => page[list].map(({ seq }: Entry) => seq)))
        expect(Buffer.byteLength(text) < max_bytes || events.size === 1).toBe(true)
        expect([shortened ?? false, { ...page, ...found }]).toEqual([next_seq !== null, { ...whole, ...found }])
        for (const list of lists) found[list]!.push(...page[list])
        expect(next_seq === null || next_seq > seq_from).toBe(true)
        seq_from = next_seq
      }
      expect(found).toEqual(Object.fromEntries(lists.map((list) => [list, whole[list]])))
    }),
    { numRuns: 60 },
  )
})

test.each([
  [{ actor_is_human: true, reviewer: 'Zoë' }, ['MV-3', 'GV-1', 'MEASURE-2.5'], []],
  [{ actor_is_human: true }, ['MV-3', 'MEASURE-2.5'], ['GV-1']],
  [{ actor_is_human: false, reviewer: 'bot' }, [], ['MV-3', 'MEASURE-2.5']],
  [{ reviewer: 'Zoë' }, [], ['MV-3', 'MEASURE-2.5']],
  [{ actor_is_human: 'true' }, [], ['MV-3', 'MEASURE-2.5']],
  [{ actor_is_human: 1 }, [], ['MV-3', 'MEASURE-2.5']],
  [{ actor_is_human: [true] }, [], ['MV-3', 'MEASURE-2.5']],
  [{ actor_is_human: null }, [], ['MV-3', 'MEASURE-2.5']],
  [{ actor_is_human: true, reviewer: 'Zoë', author_association: 'OWNER' }, ['MV-3', 'GV-1', 'MEASURE-2.5'], []],
  [{ actor_is_human: true, reviewer: 'Zoë', author_association: 'NONE' }, [], ['MV-3', 'GV-1', 'MEASURE-2.5']],
])('a review %j supports %j and is insufficient for %j', async (payload, mapped, short) => {
  const found = await map([event('pr_review_approved', { pr_number: 7, ...payload })])
  expect([ids(found.mappings), ids(found.insufficient_evidence)]).toEqual([mapped, short])
  expect(found.unmapped.length).toBe(mapped.length === 0 ? 1 : 0)
  expect(found.coverage.observed!.coverage_pct).toBe(mapped.length === 0 ? 0 : 100)
})

test.each([
  [{ human_approval_count: 2 }, true],
  [{ human_approval_count: 0, approval_count: 3 }, false],
  [{ approval_count: 3 }, false],
  [{}, false],
  [{ human_approval_count: null }, false],
  [{ human_approval_count: '2' }, false],
  [{ human_approval_count: true }, false],
  [{ human_approval_count: [2] }, false],
  [{ human_approval_count: -1 }, false],
  [{ human_approval_count: { toString: 1 } }, false],
])('a merge with %j is approved by people: %j', async (payload, approved) => {
  const { mappings, insufficient_evidence, unmapped } = await map([event('pr_merged', { pr_number: 7, ...payload })])
  const controls = ['CM-1', 'MANAGE-1.1']
  expect([ids(mappings), ids(insufficient_evidence)]).toEqual(approved ? [controls, []] : [[], controls])
  expect(unmapped.length).toBe(approved ? 0 : 1)
  for (const { reason } of insufficient_evidence) expect(reason).toMatch(/^The .+\.$/)
})

test('a merge with an unknown number of approvals differs from one with none', async () => {
  const { insufficient_evidence } = await map([event('pr_merged'), event('pr_merged', { human_approval_count: 0 })])
  const [silent, , without] = insufficient_evidence
  expect(silent!.reason).toContain('does not say')
  expect(without!.reason).toContain('no approval')
})

test('a rule looks at its own class alone', async () => {
  const attested = { evidence_class: 'attested', source: 'cstp:alice' } as const
  const found = await map([
    event('pr_merged', { human_approval_count: 1 }, attested),
    event('cstp_decision_linked', { decision_id: 'x', has_outcome: true, stakes: 'low' }),
  ])
  expect([found.mappings, found.insufficient_evidence]).toEqual([[], []])
  expect(found.unmapped.map(({ seq }) => seq)).toEqual([1, 2])
})

test('controls with evidence by agents only are named', async () => {
  const linked = link('d', [1], { has_outcome: true })
  expect((await map([event('pr_opened', { pr_number: 1 }), linked])).attested_only_controls).toEqual([
    'GOVERN-4.2',
    'GV-2',
    'OA-1',
  ])
  expect((await map([event('pr_reverted'), linked])).attested_only_controls).toEqual(['GOVERN-4.2', 'GV-2'])
})

test('coverage is by class and source, never added up', async () => {
  const { coverage } = await map([...story(1), event('deployed', { pr_number: '1' }), link('d', [1, 2])])
  expect(coverage).toEqual({
    observed: {
      total_events: 6,
      mapped_events: 5,
      unmapped_events: 1,
      coverage_pct: 83.33,
      by_source: [
        { source: 'ci', events: 1 },
        { source: 'github', events: 5 },
      ],
    },
    attested: {
      total_events: 1,
      mapped_events: 1,
      unmapped_events: 0,
      coverage_pct: 100,
      by_source: [{ source: 'cstp:alice', events: 1 }],
    },
  })
})

test('an invalid number of a pull request is null', async () => {
  const numbers = [7, '7', 1.5, true, null, {}]
  const { unmapped } = await map(numbers.map((pr_number) => event('other', { pr_number })))
  expect(unmapped.map(({ pr_number }) => pr_number)).toEqual([7, null, null, null, null, null])
})

test('partial coverage is never shown as complete', async () => {
  const events = Array.from({ length: 30_000 }, () => event('pr_commit'))
  expect((await map([...events, event('other')])).coverage.observed!.coverage_pct).toBe(99.99)
})

test('no payload breaks it, and its text is canonical', async () => {
  const types = [...rules.controls.observed.keys()]
  const fields = ['actor_is_human', 'human_approval_count', 'conclusion', 'pr_number', 'is_agent_authored', '__proto__']
  const value = fc.oneof(fc.jsonValue(), fc.constantFrom(true, 1, 'success', 0, 'true'))
  const payload = fc.dictionary(fc.oneof(fc.constantFrom(...fields), fc.string()), value)
  await fc.assert(
    fc.asyncProperty(fc.array(fc.tuple(fc.constantFrom(...types, 'other'), payload)), async (given) => {
      const events = given.map(([type, body]) => ({ ...event(type), payload: JSON.stringify(body) }))
      const { mappings, insufficient_evidence, coverage, unmapped } = await map(events)
      const mapped = new Set(mappings.map(({ seq }) => seq))
      expect(coverage.observed!.mapped_events).toBe(mapped.size)
      expect(unmapped.map(({ seq }) => seq)).toEqual(events.map((_, at) => at + 1).filter((seq) => !mapped.has(seq)))
      const gated = ['MV-3', 'MEASURE-2.5']
      for (const { seq, function_id } of mappings)
        if (gated.includes(function_id)) expect(given[seq - 1]![1].actor_is_human).toBe(true)
      const judged = [...mappings, ...insufficient_evidence].map(({ seq, function_id }) => `${seq} ${function_id}`)
      expect(new Set(judged).size).toBe(judged.length)
    }),
    { numRuns: 60 },
  )
})

test('a chain whose payloads are damaged is mapped as far as it goes', async () => {
  const broken = ['', '[', '3', 'null', '"x"'].map((payload) => ({ ...event('pr_merged'), payload }))
  expect((await map(broken)).insufficient_evidence_count).toBe(10)
})
