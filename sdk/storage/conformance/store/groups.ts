/** Store suite: decisions grouped by outcome and by reason, and edges by type, compared with the records themselves. */

import type { DecisionRecord, Outcome } from '../../../schema/decision.ts'
import { compareText, confidenceRank, filterFields, outcomeValue, settlerOf } from '../../fields.ts'
import { compileFilter } from '../../filter.ts'
import { outcomeGroups, outcomeGroupsByCategory, reasonGroups, type ScoreSum, scoreSums } from '../../groups.ts'
import type { Edge, Store } from '../../store.ts'
import { random } from '../search/corpus.ts'
import type { Kit } from './kit.ts'
import { createAll, idOf, recordOf } from './records.ts'

const types = ['analysis', 'risk', 'risk', 'pattern']
const outcomes: (Outcome | null)[] = ['success', 'failure', 'partial', 'abandoned', null]
/** Days of 2026; some are edges of time ranges. */
const days = [1, 2, 3, 40, 41, 80]
const msOf = (day: number): number => Date.UTC(2026, 0, day)
const at = (day: number): string => new Date(msOf(day)).toISOString()
const edgeKinds = ['relates_to', 'contradicts', 'supersedes'] as const

/** A record with few distinct confidences and types, so that groups have several members. */
function variedRecord(number: number, next: () => number): DecisionRecord {
  const one = <T>(values: readonly T[]): T => values[Math.floor(next() * values.length)]!
  const outcome = one(outcomes)
  const confidence = one([0.3, 0.6, 0.9])
  return recordOf(number, {
    confidence,
    outcome,
    status: outcome === null ? 'pending' : 'reviewed',
    confidence_at_record: one([confidence, 0.5, null]),
    created_at: at(one(days)),
    reviewed_at: outcome === null ? null : at(one(days)),
    self_reviewed: outcome === null ? null : one([true, false]),
    attribution_basis: outcome === null ? null : one([null, null, 'age', 'evidence']),
    category: one(['architecture', 'process', 'tooling', null]),
    recorded_by: one(['ada', 'ada', 'bob']),
    reviewed_by: outcome === null ? null : one(['ada', 'bob']),
    reasons: Array.from({ length: Math.floor(next() * 4) }, () => ({
      type: one(types),
      text: 'because',
      strength: one([0.25, 0.5, 1]),
    })),
    links: edgeKinds
      .filter(() => next() < 0.3)
      .map((edge_type) => ({
        target_id: idOf(Math.floor(next() * 40)),
        edge_type,
        weight: 0.5,
        context: null,
        created_at: `2026-0${1 + Math.floor(next() * 3)}-01T00:00:00.000Z`,
        created_by: one(['ada', 'bob']),
        effective: next() < 0.5,
      })),
  })
}

/** Counts items by key, and sums the values in `more`. */
function tally<T extends object>(items: readonly { key: unknown[]; group: T; more: Record<string, number> }[]) {
  const groups = new Map<string, T & Record<string, number>>()
  for (const { key, group, more } of items) {
    const text = JSON.stringify(key)
    const known =
      groups.get(text) ?? Object.assign({ ...group }, Object.fromEntries(Object.keys(more).map((name) => [name, 0])))
    for (const [name, value] of Object.entries(more))
      Object.assign(known, { [name]: (known as Record<string, number>)[name]! + value })
    groups.set(text, known as T & Record<string, number>)
  }
  return [...groups.values()]
}

/** The key by which outcomes are grouped. */
const groupOf = (record: DecisionRecord) => ({
  confidence: record.confidence_at_record,
  outcome: record.outcome,
  settled_by: settlerOf(record),
})

const expectedOutcomes = (records: readonly DecisionRecord[]) =>
  tally(
    records.map((record) => {
      const group = groupOf(record)
      return { key: Object.values(group), group, more: { count: 1 } }
    }),
  ).sort(
    (a, b) =>
      confidenceRank(a.confidence) - confidenceRank(b.confidence) ||
      compareText(a.outcome ?? '', b.outcome ?? '') ||
      compareText(a.settled_by ?? '', b.settled_by ?? ''),
  )

/** Sums of quarters and tenths, rounded because a driver may add in any order. */
const summed = (sums: readonly ScoreSum[]) =>
  sums
    .map((one) => ({ ...one, confidence: Math.round(one.confidence * 1e6) / 1e6 }))
    .sort((a, b) =>
      compareText(JSON.stringify([a.agent, a.category, a.stakes]), JSON.stringify([b.agent, b.category, b.stakes])),
    )

const expectedScores = (records: readonly DecisionRecord[]): ScoreSum[] =>
  summed(
    tally(
      records.flatMap((record) => {
        const { recorded_by: agent, category, stakes, outcome, confidence_at_record: confidence } = record
        const value = outcome === null ? undefined : outcomeValue[outcome]
        if (value === undefined || confidence === null || settlerOf(record) === 'age') return []
        const group = { agent, category, stakes }
        return [{ key: Object.values(group), group, more: { count: 1, confidence, value } }]
      }),
    ) as unknown as ScoreSum[],
  )

const expectedReasons = (records: readonly DecisionRecord[]) =>
  tally(
    records
      .filter((record) => record.status === 'reviewed' && settlerOf(record) !== 'age')
      .filter(({ confidence_at_record }) => confidence_at_record !== null)
      .flatMap((record) =>
        [...new Set(record.reasons.map(({ type }) => type))].map((type) => {
          const own = record.reasons.filter((reason) => reason.type === type)
          const group = { type, confidence: record.confidence_at_record!, outcome: record.outcome }
          const strength = own.reduce((sum, reason) => sum + reason.strength, 0)
          return { key: Object.values(group), group, more: { decisions: 1, uses: own.length, strength } }
        }),
      ),
  ).sort(
    (a, b) =>
      compareText(a.type, b.type) || a.confidence - b.confidence || compareText(a.outcome ?? '', b.outcome ?? ''),
  )

const expectedEdges = (records: readonly DecisionRecord[], kinds: readonly string[], limit: number): Edge[] =>
  records
    .flatMap(({ id, links }) => links.map((link) => ({ source_id: id, ...link })))
    .filter(({ edge_type }) => kinds.includes(edge_type))
    .sort(
      (a, b) =>
        compareText(b.created_at, a.created_at) ||
        compareText(a.source_id, b.source_id) ||
        compareText(a.target_id, b.target_id) ||
        compareText(a.edge_type, b.edge_type),
    )
    .slice(0, limit)

export function testGroups({ onEmpty, expect }: Kit): void {
  async function check(store: Store, records: readonly DecisionRecord[]): Promise<void> {
    const { decisions, edges } = store
    expect(await outcomeGroups(decisions, {})).toEqual(expectedOutcomes(records))
    const of = records.filter(({ stakes }) => stakes !== 'low')
    const categories = [...new Set(of.map((record) => record.category))].filter((name) => name !== null)
    expect(await outcomeGroupsByCategory(decisions, { stakes: ['medium', 'high', 'critical'] })).toEqual(
      categories.sort(compareText).flatMap((category) => {
        const own = of.filter((record) => record.category === category)
        return expectedOutcomes(own).map((group) => ({ ...group, category }))
      }),
    )
    for (const filter of [{}, { category: 'process' }, { created_from_ms: msOf(3) }]) {
      const passes = compileFilter(filter)
      const passing = records.filter((record) => passes(filterFields(record, false)))
      expect(summed(await scoreSums(decisions, filter))).toEqual(expectedScores(passing))
    }
    expect(await reasonGroups(decisions)).toEqual(expectedReasons(records))
    for (const kinds of [['contradicts'], ['relates_to', 'supersedes'], []] as const)
      for (const limit of [2, 100])
        expect(await edges.of(null, { direction: 'both', types: kinds, limit })).toEqual(
          expectedEdges(records, kinds, limit),
        )
  }

  onEmpty('an empty store has no groups', async (store) => check(store, []))

  for (const seed of [1, 2, 3])
    onEmpty(`groups follow creations and updates, seed ${seed}`, async (store) => {
      const next = random(seed)
      const records = Array.from({ length: 40 }, (_, number) => variedRecord(number, next))
      await createAll(store, records)
      await check(store, records)
      for (let number = 0; number < 40; number += 3) {
        const changed = { ...variedRecord(number, next), id: idOf(number) }
        records[number] = changed
        await store.transaction((tx) => tx.decisions.put(changed, 1))
      }
      await check(store, records)
    })
}
