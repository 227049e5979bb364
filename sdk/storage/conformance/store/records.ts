/** Decision records for the store suite: small, distinct, and the same for the same number. */
import { type DecisionRecord, outcomeValues, stakesValues } from '../../../schema/decision.ts'
import type { CountedDecision } from '../../counted.ts'
import { filterFields } from '../../fields.ts'
import type { Generation, Store, StoreOptions } from '../../store.ts'

/** Ids of seven decisions a day. They ascend with the number; their parts after `-decision-` do not. */
export function idOf(number: number): string {
  const day = String(1 + (Math.floor(number / 7) % 28)).padStart(2, '0')
  const month = String(1 + (Math.floor(number / 196) % 12)).padStart(2, '0')
  const year = 2024 + Math.floor(number / 2352)
  const hex = (Math.imul(number + 1, 0x9e3779b1) >>> 0).toString(16).padStart(8, '0')
  const order = ((number % 7) * 2).toString(16)
  return `${year}-${month}-${day}-decision-${order}${hex}${(number % 4096).toString(16).padStart(3, '0')}`
}

const pick = <T>(values: readonly T[], number: number): T => values[number % values.length]!

/** A record whose fields vary with the number; `changes` replace some of them. */
export function recordOf(number: number, changes: Partial<DecisionRecord> = {}): DecisionRecord {
  const id = changes.id ?? idOf(number)
  const created_at = `${id.slice(0, 10)}T0${number % 10}:00:00.000Z`
  const reviewed = number % 3 === 0
  const decision = `Decision ${number} about ${pick(['caches', 'queues', 'schemas', 'locks'], number)}`
  return {
    id,
    title: decision,
    decision,
    category: pick(['architecture', 'process', 'tooling'], number),
    confidence: (number % 11) / 10,
    stakes: pick(stakesValues, number >> 1),
    status: reviewed ? 'reviewed' : 'pending',
    outcome: reviewed ? pick(outcomeValues, number >> 2) : null,
    date: id.slice(0, 10),
    context: number % 2 === 0 ? `Context ${number}: "quotes", colons: and\nlines` : null,
    reasons: [{ type: 'analysis', text: `because of ${number}`, strength: 0.8 }],
    alternatives_considered: ['nothing', { option: 'other', reason: 'slower' }],
    review_in: '30d',
    review_by: `${id.slice(0, 7)}-28`,
    project:
      number % 4 === 0
        ? null
        : {
            name: pick(['acme/app', 'acme/lib'], number),
            feature: number % 5 === 0 ? 'search' : null,
            pr: 1 + (number % 9),
            files: [],
          },
    reasoning_trace: [],
    bridge: { structure: decision, function: `to keep ${number} fast`, tolerance: [], enforcement: [], prevention: [] },
    bridge_method: 'rule',
    deliberation: null,
    tags: [`t${number % 4}`, `u${number % 6}`].slice(0, number % 3),
    pattern: number % 5 === 0 ? 'do less' : null,
    pre_decision_protocol: null,
    quality: { score: 0.5, suggestions: [] },
    related_to: [],
    links: [],
    recorded_by: pick(['ada', 'bob', 'eve'], number),
    agent_id: null,
    imported_by: null,
    source_key: null,
    created_at,
    updated_at: created_at,
    actual_result: null,
    lessons: null,
    review_notes: null,
    reviewed_at: reviewed ? created_at : null,
    reviewed_by: reviewed ? 'ada' : null,
    self_reviewed: reviewed ? number % 2 === 0 : null,
    confidence_at_record: (number % 11) / 10,
    confidence_at_review: reviewed ? (number % 11) / 10 : null,
    review_history: [],
    breaker_scopes: ['global', 'agent:ada'],
    revision_count: 0,
    preserve: number % 8 === 0,
    auto_attributed: number % 9 === 0,
    attribution_basis: number % 9 === 0 ? 'age' : null,
    attribution_reason: null,
    verdict: null,
    ...changes,
  }
}

/** A record as it is counted. */
export const countedOf = (record: DecisionRecord, indexed = false): CountedDecision => ({
  fields: filterFields(record, indexed),
  reasons: record.reasons,
})

/** Splits into lower-case words: an analysis that the suite can easily repeat. */
export function analyseSimply(record: DecisionRecord): string {
  const words = `${record.decision} ${record.context ?? ''}`.toLowerCase().match(/[a-z0-9]+/g) ?? []
  return [...Map.groupBy(words, (word) => word).values()].flat().join(' ')
}

/** The options with which a driver under test must be opened. */
export const suiteOptions: StoreOptions = { analyse: analyseSimply, now: () => 1_750_000_000_000 }

/** A record full of text that careless storage corrupts. */
export function oddRecord(number: number): DecisionRecord {
  const odd = [
    'nul\0',
    '\u2028\u2029\u0085\u007f\u009f\ufeff',
    '\ufffe\uffff',
    ' \n',
    '- a: b # c',
    '%YAML 1.2\n---\n',
    '"\\\'',
    'yes',
    '~',
    '👩‍🚀 漢字',
    '\t\r\n',
  ]
  return recordOf(number, {
    decision: odd.join(' '),
    context: '',
    tags: odd,
    lessons: 'x'.repeat(5_000),
    confidence: 1e-7,
    deliberation: {
      inputs: odd.map((content) => ({
        type: 'query',
        content,
        data: { nested: [[], {}, [{ __proto__: null, x: null }]] },
      })),
      steps: [{ step: 1, thought: '\0', [odd[4]!]: -1e21, '': { true: false } }],
    },
  })
}

export async function createAll(store: Store, records: readonly DecisionRecord[]): Promise<void> {
  await store.transaction(async (tx) => {
    for (const record of records) await tx.decisions.put(record, 0)
  })
}

/** Records of these numbers, or of as many from 0 on. */
export const numbered = (numbers: readonly number[] | number): DecisionRecord[] =>
  (typeof numbers === 'number' ? [...Array(numbers).keys()] : numbers).map((number) => recordOf(number))

/** Starts a generation of vectors. */
export const begin = (store: Store, embedder = 'test:1', dimensions = 3): Promise<Generation> =>
  store.transaction((tx) => tx.embeddings.putGeneration({ state: 'building', embedder, dimensions }))

/** Makes the generation that is being built the active one. */
export const activate = (store: Store, number: number): Promise<Generation> =>
  store.transaction((tx) => tx.embeddings.putGeneration({ state: 'active', number }))
