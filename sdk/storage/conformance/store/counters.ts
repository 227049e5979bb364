/** Store suite: after any sequence of writes, counts and lists equal those computed from all decisions. */

import type { DecisionRecord } from '../../../schema/decision.ts'
import { sortNames } from '../../../schema/decision-fields.ts'
import { compareText, confidenceRank, fieldsOrder, filterFields, scoredValue } from '../../fields.ts'
import { compileFilter } from '../../filter.ts'
import {
  type CountKey,
  countBy,
  countDecisions,
  groupDecisions,
  type OutcomeGroup,
  outcomeGroups,
  outcomeGroupsByCategory,
  type ScoreSum,
  scoreSums,
} from '../../groups.ts'
import type { DecisionFields, GroupKey, ListFilter, Store } from '../../store.ts'
import { random } from '../search/corpus.ts'
import type { Kit } from './kit.ts'
import { idOf, recordOf } from './records.ts'

const dayMs = 86_400_000
/** The middle of the time range over which {@link changedRecord} spreads decisions. */
const middle_ms = Date.UTC(2026, 0, 20, 12)
const keys = ['category', 'stakes', 'status', 'outcome', 'agent', 'day', 'tag', 'project'] as const

/** A random decision with few values for each field, so that many decisions share them. */
export function changedRecord(number: number, next: () => number): DecisionRecord {
  const one = <T>(values: readonly T[]): T => values[Math.floor(next() * values.length)]!
  const outcome = one(['success', 'failure', 'partial', 'abandoned', null, null] as const)
  const at = (days: number): string => new Date(middle_ms + Math.round((next() - 0.5) * days * dayMs)).toISOString()
  return recordOf(number, {
    category: one(['architecture', 'process', null]),
    recorded_by: one(['ada', 'bob']),
    stakes: one(['low', 'high', 'critical']),
    confidence: one([0.2, 0.7, null]),
    confidence_at_record: one([0.2, 0.7, null]),
    outcome,
    status: outcome === null ? 'pending' : 'reviewed',
    self_reviewed: outcome === null ? null : one([true, false]),
    attribution_basis: outcome === null ? null : one([null, null, 'age', 'evidence']),
    reviewed_at: outcome === null ? null : at(10),
    created_at: at(40),
    review_by: at(40).slice(0, 10),
    preserve: next() < 0.2,
    tags: ['cache', 'queue', 'cache'].filter(() => next() < 0.4),
    project:
      next() < 0.3 ? null : { name: one(['acme/app', 'acme/lib']), feature: one([null, 'search']), pr: 1, files: [] },
  })
}

/** Filters that a decision's combinations and time decide, and filters that only its row can decide. */
const filters: readonly ListFilter[] = [
  {},
  { agent: 'ada' },
  { agent: 'nobody' },
  { category: 'process', stakes: ['high', 'critical'] },
  { status: ['pending'] },
  { status: ['reviewed'], preserve: false },
  { outcome: ['failure'], agent: 'bob' },
  { stakes: [] },
  { created_from_ms: middle_ms },
  { created_to_ms: middle_ms - 3 * dayMs },
  { created_from_ms: middle_ms - 2 * dayMs, created_to_ms: middle_ms + 2 * dayMs, agent: 'ada' },
  { created_from_ms: middle_ms - 100 * dayMs, created_to_ms: middle_ms + 18 * dayMs },
  { indexed: true },
  { indexed: false, created_from_ms: middle_ms },
  { project: 'acme/app' },
  { project: 'acme/app', indexed: true, status: ['reviewed'] },
  { tags: ['queue'], category: 'process' },
  { min_confidence: 0.5 },
  { status: ['pending'], review_by_to_ms: middle_ms, stakes: ['low'] },
  { feature: 'search', pr: 1 },
  { scored: true },
  { scored: true, agent: 'ada', stakes: ['high'], created_from_ms: middle_ms },
  { scored: true, outcome: ['failure'], project: 'acme/app' },
]

/** Keys that decisions are grouped by together. */
const combinations: readonly (readonly GroupKey[])[] = [
  [],
  ['day', 'reviewed_day', 'project'],
  ['tag', 'agent'],
  ['result', 'outcome'],
  ['confidence_at_record', 'outcome', 'settled_by', 'category', 'stakes', 'status', 'agent'],
]

/** Groups as texts in a fixed order, as a driver may return them in any. */
const inOrder = (groups: readonly object[]): string[] =>
  groups.map((group) => JSON.stringify(Object.entries(group).sort(([a], [b]) => compareText(a, b)))).sort(compareText)

const countsOf = (values: readonly (string | null)[], by: CountKey) => {
  const counts = new Map<string, number>()
  for (const value of values) if (value !== null) counts.set(value, (counts.get(value) ?? 0) + 1)
  return [...counts]
    .map(([value, count]) => ({ value, count }))
    .sort((a, b) => (by === 'day' ? 0 : b.count - a.count) || compareText(a.value, b.value))
}

const valuesOf = (fields: DecisionFields, by: CountKey): (string | null)[] =>
  by === 'tag'
    ? [...new Set(fields.tags)]
    : [by === 'day' ? new Date(fields.created_ms).toISOString().slice(0, 10) : fields[by]]

/** What each decision weighs among these: those of an agent that the evidence of one pull request settled share the weight of one. */
function shares(all: readonly DecisionFields[]): (one: DecisionFields) => number {
  const isScored = ({ confidence_at_record: confidence, outcome, settled_by }: DecisionFields) =>
    scoredValue({ confidence, outcome, settled_by }) !== null
  return (one) => {
    if (!['observed', 'inferred'].includes(one.settled_by ?? '') || one.project === null || one.pr === null) return 1
    const same = all.filter(
      (other) =>
        isScored(other) &&
        ['observed', 'inferred'].includes(other.settled_by ?? '') &&
        (['agent', 'project', 'pr'] as const).every((name) => other[name] === one[name]),
    )
    return isScored(one) ? 1 / same.length : 1
  }
}

const rounded = (value: number): number => Math.round(value * 1e4) / 1e4
const withRounded = (groups: readonly OutcomeGroup[]) =>
  groups.map((group) => ({ ...group, weight: rounded(group.weight ?? group.count) }))

function groupsOf(fields: readonly DecisionFields[]) {
  const share = shares(fields)
  const groups = new Map<string, OutcomeGroup & { weight: number }>()
  for (const one of fields) {
    const { confidence_at_record: confidence, outcome, settled_by } = one
    const key = JSON.stringify([confidence, outcome, settled_by])
    const known = groups.get(key) ?? { confidence, outcome, settled_by, count: 0, weight: 0 }
    groups.set(key, { ...known, count: known.count + 1, weight: known.weight + share(one) })
  }
  return withRounded([...groups.values()]).sort(
    (a, b) =>
      confidenceRank(a.confidence) - confidenceRank(b.confidence) ||
      compareText(a.outcome ?? '', b.outcome ?? '') ||
      compareText(a.settled_by ?? '', b.settled_by ?? ''),
  )
}

/** As text, with rounded sums, because a driver may add in any order. */
const scoreTexts = (sums: readonly ScoreSum[]): string[] =>
  sums
    .map(({ agent, category, stakes, ...sum }) => {
      return JSON.stringify([agent, category, stakes, ...[sum.count, sum.confidence, sum.value].map(rounded)])
    })
    .sort(compareText)

function scoresOf(fields: readonly DecisionFields[]): ScoreSum[] {
  const sums = new Map<string, ScoreSum>()
  const share = shares(fields)
  for (const one of fields) {
    const { agent, category, stakes, confidence_at_record: confidence, outcome, settled_by } = one
    const value = scoredValue({ confidence, outcome, settled_by })
    if (value === null) continue
    const key = JSON.stringify([agent, category, stakes])
    const sum = sums.get(key) ?? { agent, category, stakes, count: 0, confidence: 0, value: 0 }
    const count = share(one)
    sums.set(key, {
      ...sum,
      count: sum.count + count,
      confidence: sum.confidence + count * confidence!,
      value: sum.value + count * value,
    })
  }
  return [...sums.values()]
}

/** Expects every count and list of a store to equal that of these decisions. */
export async function expectCounts({ expect }: Pick<Kit, 'expect'>, store: Store, all: readonly DecisionFields[]) {
  const { decisions } = store
  for (const [number, filter] of filters.entries()) {
    const passing = all.filter(compileFilter(filter))
    expect([filter, await countDecisions(decisions, filter)]).toEqual([filter, passing.length])
    expect([filter, await store.transaction((tx) => countDecisions(tx.decisions, filter))]).toEqual([
      filter,
      passing.length,
    ])
    for (const by of keys)
      expect([filter, by, await countBy(decisions, filter, by)]).toEqual([
        filter,
        by,
        countsOf(
          passing.flatMap((fields) => valuesOf(fields, by)),
          by,
        ),
      ])
    for (const by of combinations) {
      const expected = groupDecisions(
        passing.map((fields) => ({ fields, reasons: [] })),
        by,
      )
      expect([filter, by, inOrder(await decisions.groups(filter, by))]).toEqual([filter, by, inOrder(expected)])
    }
    const groups = groupsOf(passing)
    expect([filter, withRounded(await outcomeGroups(decisions, filter))]).toEqual([filter, groups])
    const inside = await store.transaction((tx) => outcomeGroups(tx.decisions, filter))
    expect([filter, withRounded(inside)]).toEqual([filter, groups])
    const names = [...new Set(passing.map((fields) => fields.category))].filter((name) => name !== null)
    const split = names.sort(compareText).flatMap((category) => {
      const own = passing.filter((one) => one.category === category)
      return groupsOf(own).map((group) => ({ ...group, category }))
    })
    expect([filter, withRounded(await outcomeGroupsByCategory(decisions, filter))]).toEqual([filter, split])
    expect([filter, scoreTexts(await scoreSums(decisions, filter))]).toEqual([filter, scoreTexts(scoresOf(passing))])
    const [sort, order] = [sortNames[number % sortNames.length]!, number % 2 === 0 ? 'asc' : 'desc'] as const
    const sorted = [...passing].sort(fieldsOrder(sort, order)).map(({ id }) => id)
    for (const [offset, limit] of [
      [0, 5],
      [3, 100],
    ] as const) {
      const { texts, total } = await decisions.list({ filter, sort, order, offset, limit })
      expect([filter, total, texts.map(({ id }) => id)]).toEqual([
        filter,
        sorted.length,
        sorted.slice(offset, offset + limit),
      ])
    }
    const walked = await decisions.walk(filter, null, 7)
    expect([filter, walked]).toEqual([filter, [...passing].sort(fieldsOrder('created_at', 'asc')).slice(0, 7)])
  }
}

export function testCounters({ onEmpty, expect, shared }: Kit): void {
  for (const seed of [1, 2, 3])
    onEmpty(`counts and lists follow any sequence of writes, seed ${seed}`, async (store, again) => {
      const next = random(seed)
      const known = new Map<string, { record: DecisionRecord; revision: number; indexed: boolean }>()
      // A second instance that follows from the start, as another process does.
      const other = shared ? await again() : null
      let embedder = 'test:0'
      await store.transaction((tx) =>
        tx.embeddings.putGeneration({ state: 'building', embedder: embedder, dimensions: 2 }),
      )
      const vector = Float32Array.of(1, 0)
      const vectors = { structure: vector, function: vector, both: vector }
      const kinds = ['create', 'create', 'create', 'update', 'update', 'embed', 'embed', 'forget', 'fail'] as const
      for (let step = 0; step < 90; step++) {
        const number = Math.floor(next() * 40)
        const id = idOf(number)
        const before = known.get(id)
        const kind = step === 60 ? 'replace' : kinds[Math.floor(next() * kinds.length)]!
        const record = changedRecord(number, next)
        if (kind === 'replace') {
          // Replace the active generation by one that has vectors for other decisions.
          embedder = 'test:1'
          await store.transaction(async (tx) => {
            const { number: generation } = await tx.embeddings.putGeneration({
              state: 'building',
              embedder: embedder,
              dimensions: 2,
            })
            for (const [at, one] of [...known].entries()) {
              one[1].indexed = at % 2 === 0
              if (one[1].indexed) await tx.embeddings.put(one[0], { embedder, vectors })
            }
            await tx.embeddings.putGeneration({ state: 'active', number: generation })
          })
        } else if (kind === 'fail')
          await store
            .transaction(async (tx) => {
              if (before) await tx.decisions.put(record, before.revision)
              else await tx.decisions.put(record, 0)
              throw new Error('not this time')
            })
            .catch(() => {})
        else if (before === undefined) {
          await store.transaction((tx) => tx.decisions.put(record, 0))
          known.set(id, { record, revision: 1, indexed: false })
        } else if (kind === 'embed' || kind === 'forget') {
          await store.transaction((tx) =>
            kind === 'embed' ? tx.embeddings.put(id, { embedder, vectors }) : tx.embeddings.put(id, null),
          )
          before.indexed = kind === 'embed'
        } else {
          await store.transaction((tx) => tx.decisions.put(record, before.revision))
          known.set(id, { ...before, record, revision: before.revision + 1 })
        }
        const all = () => [...known.values()].map((one) => filterFields(one.record, one.indexed))
        if (step % 30 === 29) await expectCounts({ expect }, step % 60 === 29 ? store : (other ?? store), all())
      }
      if (shared) {
        const all = [...known.values()].map((one) => filterFields(one.record, one.indexed))
        await expectCounts({ expect }, other!, all)
        await expectCounts({ expect }, await again(), all)
      }
    })
}
