/** What decisions of a category have in common: principles that held, with their failures, and common failure modes. */
import type { DecisionRecord } from '../../../../sdk/schema/decision.ts'
import type { WisdomEntry } from '../../../../sdk/schema/memory.ts'
import { isConfirmed } from '../../../../sdk/storage/fields.ts'
import { round } from '../../../core/figures.ts'
import { exactInterval } from '../calibration/interval.ts'
import { central, cluster, nearness, type Point, saysOtherwise, wordingOf } from './clusters.ts'

/** Most characters of a statement that are kept. */
const maxLength = 300
/** Most statements of a category that are compared by meaning, the most frequent ones; the others are compared only by wording. */
const maxCompared = 120
/** Fewest decisions that must agree. */
const minAgreeing = 2
const maxShown = 5
const maxExamples = 3
const maxAgents = 10

/** A statement that decisions share, with the decisions that applied it, and those that drew it as a lesson. */
interface Statement {
  /** How often each wording of it occurs. */
  wordings: Map<string, number>
  applied: Set<DecisionRecord>
  drawn: Set<DecisionRecord>
}

export type Principle = WisdomEntry['key_principles'][number]
export type FailureMode = WisdomEntry['failure_modes'][number]
type LessonUsed = WisdomEntry['lessons_used'][number]

/** What a category's decisions taught. */
export interface Learnt {
  /** Successes that are missing for the first principle; 0 if there is one. */
  missing: number
  principles: Principle[]
  failure_modes: FailureMode[]
  lessons_used: LessonUsed[]
}

const succeeded = ({ outcome }: DecisionRecord): boolean => outcome === 'success'
const failed = ({ outcome }: DecisionRecord): boolean => outcome === 'failure'

const shownOf = (text: string | null): string =>
  text?.trim().replace(/\s+/g, ' ').slice(0, maxLength).toWellFormed() ?? ''

/** The statements of the records, grouped by wording. */
function statements(
  records: readonly DecisionRecord[],
  of: (record: DecisionRecord) => { applied: (string | null)[]; drawn: (string | null)[] },
): Statement[] {
  const found = new Map<string, Statement>()
  for (const record of records) {
    const { applied, drawn } = of(record)
    for (const [role, texts] of [
      ['applied', applied],
      ['drawn', drawn],
    ] as const)
      for (const text of texts) {
        const shown = shownOf(text)
        if (shown === '') continue
        const key = wordingOf(shown)
        const known = found.get(key) ?? { wordings: new Map(), applied: new Set(), drawn: new Set() }
        known.wordings.set(shown, (known.wordings.get(shown) ?? 0) + 1)
        known[role].add(record)
        found.set(key, known)
      }
  }
  return [...found.values()]
}

const sizeOf = ({ applied, drawn }: Statement): number => applied.size + drawn.size
/** The most frequent wording; the first of several. */
const textOf = ({ wordings }: Statement): string =>
  [...wordings].reduce((best, one) => (one[1] > best[1] ? one : best))[0]

/** Compares statements by meaning; a text without a vector is compared only by its wording. */
export interface Comparing {
  same_distance: number
  vectors(texts: readonly string[]): Promise<ReadonlyMap<string, Float32Array>>
}

/** Joins statements that say the same, under the wording nearest to all of them. */
async function joined(all: readonly Statement[], comparing: Comparing, apart?: typeof saysOtherwise) {
  const bySize = all.toSorted((a, b) => sizeOf(b) - sizeOf(a))
  const compared = bySize.slice(0, maxCompared).map((one) => ({ ...one, text: textOf(one) }))
  const vectors = await comparing.vectors(compared.map(({ text }) => text))
  const points = compared.map(
    (one): Point => ({
      text: one.text,
      vector: vectors.get(one.text) ?? null,
      weight: sizeOf(one),
    }),
  )
  const together = cluster(points, nearness(points, comparing.same_distance), apart).map((members) => {
    const union = (role: 'applied' | 'drawn') => new Set(members.flatMap((at) => [...compared[at]![role]]))
    return { text: central(members.map((at) => points[at]!)).text, applied: union('applied'), drawn: union('drawn') }
  })
  return [...together, ...bySize.slice(maxCompared).map((one) => ({ ...one, text: textOf(one) }))]
}

type Joined = Awaited<ReturnType<typeof joined>>[number]

const newestFirst = (a: DecisionRecord, b: DecisionRecord): number =>
  a.created_at < b.created_at ? 1 : a.created_at > b.created_at ? -1 : a.id < b.id ? 1 : -1
const examplesOf = (records: readonly DecisionRecord[]): string[] =>
  records
    .toSorted(newestFirst)
    .slice(0, maxExamples)
    .map(({ id }) => id)

/** The review that a record's lessons are from: it may be one that does not count. */
const drawnIn = ({ review_history, lessons }: DecisionRecord) =>
  review_history.findLast((one) => one.lessons === lessons)
const drawnBy = (record: DecisionRecord): string => drawnIn(record)?.reviewed_by ?? record.recorded_by

function boundsOf(successes: number, failures: number): Pick<Principle, 'success_low' | 'success_high'> {
  const { low, high } = exactInterval(successes, successes + failures, 0.05)
  return { success_low: round(low), success_high: round(high) }
}

/** Who settled a record; evidence is nobody's word. */
const witnessOf = ({ attribution_basis, reviewed_by, recorded_by }: DecisionRecord): string | null =>
  attribution_basis === null ? (reviewed_by ?? recorded_by) : null

/**
 * A principle, or the number of successes that are missing for it. It is one if at least two successes confirm it, and more successes than failures. No agent confirms its own words: if one agent stated
 * it in all decisions that applied it, those that only this agent reviewed confirm nothing, nor do lessons that it drew elsewhere; and lessons
 * of one agent alone are no principle. A failure from which the principle was drawn as a lesson does not count against it.
 */
function principleOf({ text, applied, drawn }: Joined, source: Principle['source']): Principle | number {
  const stated = [...applied, ...[...drawn].filter((one) => drawnBy(one) === one.recorded_by)].filter(succeeded)
  const authors = new Set(stated.map(({ recorded_by }) => recorded_by))
  const told = [...drawn.difference(new Set(stated))].filter(succeeded)
  const confirming = [
    ...(authors.size > 1 ? new Set(stated) : new Set(stated.filter(isConfirmed))),
    ...told.filter((one) => authors.size > 1 || !authors.has(drawnBy(one))),
  ]
  const voices = new Set([...authors, ...stated.map(witnessOf), ...told.map(drawnBy)])
  const against = [...applied].filter(failed)
  const failures = against.length
  const missing = Math.max(minAgreeing, failures + 1) - confirming.length
  if (missing > 0 || voices.size < 2) return Math.max(1, missing)
  const recorders = new Set(confirming.map(({ recorded_by }) => recorded_by)).size
  const reviewers = Map.groupBy(confirming, ({ reviewed_by, recorded_by }) => reviewed_by ?? recorded_by)
  const confirmed_by = [...reviewers]
    .sort((a, b) => b[1].length - a[1].length || (a[0] < b[0] ? -1 : 1))
    .slice(0, maxAgents)
    .map(([agent]) => agent)
  const confirmations = confirming.length
  return {
    text,
    confirmations,
    failures,
    ...boundsOf(confirmations, failures),
    confirmed_by,
    source,
    recorders,
    example_ids: examplesOf(confirming),
    failure_ids: examplesOf(against),
  }
}

const rank = (a: Principle, b: Principle): number =>
  b.confirmations - a.confirmations || a.failures - b.failures || (a.text < b.text ? -1 : 1)

const isPattern = ({ type }: DecisionRecord['reasons'][number]): boolean => type.trim().toLowerCase() === 'pattern'
const lessonsOf = (record: DecisionRecord): (string | null)[] => [record.lessons]
/** The statements of a record: it applied its pattern and its reasons of type pattern, and drew its lessons. */
const stated = (record: DecisionRecord) => ({
  applied: [record.pattern, ...record.reasons.filter(isPattern).map(({ text }) => text)],
  drawn: lessonsOf(record),
})
/** The result, unless it is one word: this only repeats the outcome. */
const tellingResult = ({ actual_result }: DecisionRecord): (string | null)[] =>
  actual_result !== null && wordingOf(actual_result).includes(' ') ? [actual_result] : []

/** The title as a statement, to find similar decisions. */
const titled = (record: DecisionRecord) => ({ applied: [record.title], drawn: [] })

/** The largest groups of failures with the same lesson; if there are none, those with the same result. */
async function failureModes(records: readonly DecisionRecord[], comparing: Comparing): Promise<FailureMode[]> {
  for (const [source, of] of [
    ['lesson', lessonsOf],
    ['result', tellingResult],
  ] as const) {
    const all = statements(records.filter(failed), (record) => ({ applied: of(record), drawn: [] }))
    const found = (await joined(all, comparing, saysOtherwise))
      .filter(({ applied }) => applied.size >= minAgreeing)
      .map(({ text, applied }) => ({ text, source, failures: applied.size, example_ids: examplesOf([...applied]) }))
      .sort((a, b) => b.failures - a.failures || (a.text < b.text ? -1 : 1))
    if (found.length > 0) return found.slice(0, maxShown)
  }
  return []
}

/** Lessons that were found before later decisions, more of which succeeded than failed. No agent confirms its own success. */
function lessonsUsed(records: readonly DecisionRecord[]): LessonUsed[] {
  const used = new Map<string, { drawn: Set<DecisionRecord>; uses: Set<DecisionRecord> }>()
  const byId = new Map(records.map((one) => [one.id, one]))
  for (const use of records)
    for (const { id } of use.related_to) {
      const from = byId.get(id)
      const said = from && drawnIn(from)
      if (!said?.lessons || said.reviewed_at >= use.created_at) continue
      const key = wordingOf(said.lessons)
      const { drawn, uses } = used.get(key) ?? { drawn: new Set(), uses: new Set() }
      used.set(key, { drawn: drawn.add(from!), uses: uses.add(use) })
    }
  return [...used.values()]
    .flatMap(({ drawn, uses }): LessonUsed[] => {
      const held = [...uses].filter((one) => succeeded(one) && isConfirmed(one))
      const [successes, failures] = [held.length, [...uses].filter(failed).length]
      if (successes <= failures) return []
      const [newest] = [...drawn].sort(newestFirst) as [DecisionRecord]
      const text = shownOf(newest.lessons)
      return [
        { text, id: newest.id, successes, failures, ...boundsOf(successes, failures), example_ids: examplesOf(held) },
      ]
    })
    .sort((a, b) => b.successes - a.successes || (a.text < b.text ? -1 : 1))
    .slice(0, maxShown)
}

/**
 * What the reviewed decisions of one category taught. If none of their statements is confirmed, groups of similar decisions are used as
 * principles.
 */
export async function learntFrom(records: readonly DecisionRecord[], comparing: Comparing): Promise<Learnt> {
  let missing = minAgreeing
  const principles = async (source: Principle['source']): Promise<Principle[]> => {
    const [of, apart] = source === 'statement' ? [stated, saysOtherwise] : [titled, undefined]
    const found = await joined(statements(records, of), comparing, apart)
    const judged = found.map((one) => principleOf(one, source))
    const numbers = judged.filter((one) => typeof one === 'number')
    missing = Math.min(missing, ...numbers)
    return judged.filter((one) => typeof one !== 'number').sort(rank)
  }
  const stands = await principles('statement')
  const shown = stands.length > 0 ? stands : await principles('decisions')
  return {
    principles: shown.slice(0, maxShown),
    missing: shown.length > 0 ? 0 : missing,
    failure_modes: await failureModes(records, comparing),
    lessons_used: lessonsUsed(records),
  }
}
