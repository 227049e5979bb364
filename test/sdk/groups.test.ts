/** The questions about counts, over groups in memory, agree with a plain look at every decision. */
import { expect, test } from 'bun:test'
import type { DecisionRecord } from '../../sdk/schema/decision.ts'
import { random } from '../../sdk/storage/conformance/search/corpus.ts'
import { countedOf, recordOf } from '../../sdk/storage/conformance/store/records.ts'
import { type CountedDecision, groupDecisions } from '../../sdk/storage/counted.ts'
import { compareText, confidenceRank, scoredValue } from '../../sdk/storage/fields.ts'
import { compileFilter } from '../../sdk/storage/filter.ts'
import {
  countBy,
  countDecisions,
  outcomeGroups,
  outcomeGroupsByCategory,
  reasonGroups,
  scoreSums,
} from '../../sdk/storage/groups.ts'
import type { DecisionReader } from '../../sdk/storage/store.ts'

function madeUp(number: number, next: () => number): DecisionRecord {
  const one = <T>(values: readonly T[]): T => values[Math.floor(next() * values.length)]!
  const outcome = one(['success', 'failure', 'partial', 'abandoned', null] as const)
  return recordOf(number, {
    category: one(['architecture', 'process', null]),
    recorded_by: one(['ada', 'bob']),
    stakes: one(['low', 'high']),
    confidence_at_record: one([0.25, 0.75, null]),
    outcome,
    status: outcome === null ? 'pending' : 'reviewed',
    self_reviewed: outcome === null ? null : one([true, false]),
    attribution_basis: outcome === null ? null : one([null, 'age', 'evidence', 'evidence']),
    project: { name: one(['acme/app', 'acme/lib']), feature: null, pr: one([1, 2, null]), files: [] },
    tags: ['cache', 'queue', 'cache'].filter(() => next() < 0.4),
    reasons: Array.from({ length: Math.floor(next() * 4) }, () => ({
      type: one(['analysis', 'risk']),
      text: 'because',
      strength: one([0.25, 0.5, 1]),
    })),
  })
}

const storeOf = (all: readonly CountedDecision[]): Pick<DecisionReader, 'groups'> => ({
  async groups(filter, by) {
    const passes = compileFilter(filter)
    return groupDecisions(
      all.filter(({ fields }) => passes(fields)),
      by,
    )
  },
})

/** Sums of weights differ in their last bits. */
const rounded = (value: number): number => Math.round(value * 1e6) / 1e6

/** Sums by key, each of what `add` says of a decision. */
function sums(all: readonly CountedDecision[], add: (one: CountedDecision) => [key: unknown[], ...values: number[]][]) {
  const found = new Map<string, number[]>()
  for (const [key, ...values] of all.flatMap(add)) {
    const text = JSON.stringify(key)
    found.set(
      text,
      values.map((value, at) => value + (found.get(text)?.[at] ?? 0)),
    )
  }
  return [...found].map(([key, values]) => [...JSON.parse(key), ...values.map(rounded)]).sort(compareRows)
}
const compareRows = (a: unknown[], b: unknown[]) => compareText(JSON.stringify(a), JSON.stringify(b))

const scoreOf = ({ fields: { confidence_at_record: confidence, outcome, settled_by } }: CountedDecision) =>
  scoredValue({ confidence, outcome, settled_by })

/** What each weighs: those of an agent that the evidence of one pull request settled weigh one together. */
function weightIn(all: readonly CountedDecision[]): (one: CountedDecision) => number {
  const isShared = (one: CountedDecision) =>
    scoreOf(one) !== null && one.fields.pr !== null && one.fields.settled_by === 'observed'
  const key = ({ fields: { agent, project, pr } }: CountedDecision) => `${agent} ${project}#${pr}`
  return (one) => (isShared(one) ? 1 / all.filter((other) => isShared(other) && key(other) === key(one)).length : 1)
}

test.each([1, 2, 3])('counts, outcomes, scores and reasons are those of the decisions, seed %i', async (seed) => {
  const next = random(seed)
  const all = Array.from({ length: 80 }, (_, number) => countedOf(madeUp(number, next)))
  const store = storeOf(all)
  for (const filter of [{}, { agent: 'ada' }, { stakes: ['high' as const] }]) {
    const passing = all.filter(({ fields }) => compileFilter(filter)(fields))
    const weight = weightIn(passing)
    expect(await countDecisions(store, filter)).toBe(passing.length)
    for (const by of ['category', 'tag', 'agent'] as const) {
      const values = (await countBy(store, filter, by)).map(({ value, count }) => [value, count])
      const ofOne = ({ fields }: CountedDecision) => (by === 'tag' ? [...new Set(fields.tags)] : [fields[by]])
      const expected = sums(passing, (one) => ofOne(one).flatMap((value) => (value === null ? [] : [[[value], 1]])))
      expect(values).toEqual(expected.sort((a, b) => b[1] - a[1] || compareText(a[0], b[0])))
    }
    const outcome = ({ fields: { confidence_at_record, outcome, settled_by } }: CountedDecision) =>
      [confidence_at_record, outcome, settled_by] as const
    const groups = (await outcomeGroups(store, filter)).map((one) => [
      ...[one.confidence, one.outcome, one.settled_by, one.count],
      rounded(one.weight ?? one.count),
    ])
    expect(groups.toSorted(compareRows)).toEqual(sums(passing, (one) => [[[...outcome(one)], 1, weight(one)]]))
    expect(groups.map(([confidence]) => confidenceRank(confidence as number | null))).toEqual(
      groups.map(([confidence]) => confidenceRank(confidence as number | null)).sort((a, b) => a - b),
    )
    const split = await outcomeGroupsByCategory(store, filter)
    for (const category of ['architecture', 'process'])
      expect(split.filter((one) => one.category === category).map(({ category: _, ...one }) => one)).toEqual(
        await outcomeGroups(storeOf(passing.filter(({ fields }) => fields.category === category)), {}),
      )
    const scores = (await scoreSums(store, filter)).map((one) => [
      ...[one.agent, one.category, one.stakes],
      ...[one.count, one.confidence, one.value].map(rounded),
    ])
    expect(scores.sort(compareRows)).toEqual(
      sums(passing, (one) => {
        const { agent, category, stakes, confidence_at_record: confidence } = one.fields
        const [value, own] = [scoreOf(one), weight(one)]
        return value === null ? [] : [[[agent, category, stakes], own, own * confidence!, own * value]]
      }),
    )
  }
  const weight = weightIn(all)
  const reasons = (await reasonGroups(store)).map((one) => [
    ...[one.type, one.confidence, one.outcome, one.decisions],
    ...[one.weight ?? one.decisions, one.uses, one.strength].map(rounded),
  ])
  expect(reasons.sort(compareRows)).toEqual(
    sums(all, (one) => {
      const { confidence_at_record: confidence, outcome, settled_by } = one.fields
      if (confidence === null || outcome === null || settled_by === 'age') return []
      return [...Map.groupBy(one.reasons, ({ type }) => type)].map(([type, own]) => [
        [type, confidence, outcome],
        ...[1, scoreOf(one) === null ? 1 : weight(one)],
        ...[own.length, own.reduce((sum, { strength }) => sum + strength, 0)],
      ])
    }),
  )
})
