/** Store suite: after any sequence of writes, counts and lists equal those computed from all decisions. */

import type { DecisionRecord } from '../../../schema/decision.ts'
import { sortNames } from '../../../schema/decision-fields.ts'
import type { CountedDecision } from '../../counted.ts'
import { fieldsOrder } from '../../fields.ts'
import { compileFilter } from '../../filter.ts'
import type { GroupKey, ListFilter, Store } from '../../store.ts'
import { random } from '../search/corpus.ts'
import type { Kit } from './kit.ts'
import { countedOf, idOf, recordOf } from './records.ts'

const dayMs = 86_400_000
/** The middle of the time range over which {@link changedRecord} spreads decisions. */
const middle_ms = Date.UTC(2026, 0, 20, 12)

/** A random decision with few values for each field, so that many decisions share them. */
function changedRecord(number: number, next: () => number): DecisionRecord {
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
    reasons: Array.from({ length: Math.floor(next() * 4) }, () => ({
      type: one(['analysis', 'risk', 'pattern']),
      text: 'because',
      strength: one([0.25, 0.5, 1]),
    })),
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

/** What decisions are grouped by: each key, and keys together. */
const combinations: readonly (readonly GroupKey[])[] = [
  [],
  ...(['category', 'stakes', 'status', 'outcome', 'agent', 'day', 'tag', 'project'] as const).map((key) => [key]),
  ['day', 'reviewed_day', 'project'],
  ['tag', 'agent'],
  ['result', 'outcome'],
  ['reason', 'result', 'confidence_at_record', 'outcome', 'settled_by'],
  ['confidence_at_record', 'outcome', 'settled_by', 'category', 'stakes', 'status', 'agent'],
]

/** Expects every count and list of a store to equal that of these decisions. */
async function expectCounts({ expect, expectGroups }: Kit, store: Store, all: readonly CountedDecision[]) {
  const { decisions } = store
  for (const [number, filter] of filters.entries()) {
    const passes = compileFilter(filter)
    const passing = all.filter(({ fields }) => passes(fields))
    for (const by of combinations) await expectGroups(decisions, filter, by, passing)
    for (const by of [[], ['result', 'outcome']] as const)
      await store.transaction((tx) => expectGroups(tx.decisions, filter, by, passing))
    const fields = passing.map((one) => one.fields)
    const [sort, order] = [sortNames[number % sortNames.length]!, number % 2 === 0 ? 'asc' : 'desc'] as const
    const sorted = fields.toSorted(fieldsOrder(sort, order)).map(({ id }) => id)
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
    expect([filter, walked]).toEqual([filter, fields.toSorted(fieldsOrder('created_at', 'asc')).slice(0, 7)])
  }
}

export function testCounters(kit: Kit): void {
  const { onEmpty, shared } = kit
  for (const seed of [1, 2, 3])
    onEmpty(`counts and lists follow any sequence of writes, seed ${seed}`, async (store, again) => {
      const next = random(seed)
      const known = new Map<string, { record: DecisionRecord; revision: number; indexed: boolean }>()
      const counted = () => [...known.values()].map(({ record, indexed }) => countedOf(record, indexed))
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
        if (step % 30 === 29) await expectCounts(kit, step % 60 === 29 ? store : (other ?? store), counted())
      }
      if (shared) {
        await expectCounts(kit, other!, counted())
        await expectCounts(kit, await again(), counted())
      }
    })
}
