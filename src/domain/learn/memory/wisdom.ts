/** Wisdom: what each category's reviewed decisions taught. */

import type { DecisionRecord } from '../../../../sdk/schema/decision.ts'
import type { WisdomEntry } from '../../../../sdk/schema/memory.ts'
import { parseRecord } from '../../../../sdk/storage/decisions.ts'
import { type OutcomeGroup, outcomeGroupsByCategory } from '../../../../sdk/storage/groups.ts'
import type { DecisionFilter, Store } from '../../../../sdk/storage/store.ts'
import { brierOf, countOf, groupsByCategory, meanOf, round, scoredOf, statedOf } from '../../../core/figures.ts'
import type { Phrases } from './clusters.ts'
import { type Learnt, learntFrom } from './principles.ts'

/** Most decisions read in all; fewest and most of one category; most of a category requested on its own. Further categories get only figures. */
const [maxRead, fewestOfOne, mostOfOne, mostAlone] = [2_000, 20, 80, 400]
/** Most additional failures, as a category that rarely fails has none among its newest decisions. */
const maxFailures = 20

export interface Wisdom {
  categories: WisdomEntry[]
  /** False if the embedder did not compare all statements in time: some are then joined only by their wording. */
  by_meaning: boolean
}

export interface WisdomQuery {
  category?: string
  /** Categories with fewer reviewed decisions are left out. */
  min_decisions: number
}

interface Within {
  /** Ends the comparison of statements by meaning. */
  signal: AbortSignal
  /** Lets other work run. */
  yieldToEventLoop(): Promise<void>
}

/** Returns what decisions taught, and caches the last answers until a decision changes. */
export interface WisdomReader {
  of(query: WisdomQuery, within: Within): Promise<Wisdom>
  /** Vectors of short texts. */
  phrases: Pick<Phrases, 'vectors'>
}

/** The newest decisions that pass the filter. */
export const newest = async ({ decisions }: Store, filter: DecisionFilter, limit: number): Promise<DecisionRecord[]> =>
  limit === 0
    ? []
    : (await decisions.list({ filter, sort: 'created_at', order: 'desc', offset: 0, limit })).texts.map(parseRecord)

/** The newest reviewed decisions of a category and its newest failures, without those that were settled by age. */
async function recordsOf(store: Store, category: string, groups: readonly OutcomeGroup[], limit: number) {
  const records = await newest(store, { category, status: ['reviewed'] }, limit)
  const unread =
    countOf(groups.filter(({ outcome }) => outcome === 'failure')) -
    records.filter(({ outcome }) => outcome === 'failure').length
  const failures = await newest(store, { category, outcome: ['failure'] }, unread > 0 ? maxFailures : 0)
  const known = new Set(records.map(({ id }) => id))
  return [...records, ...failures.filter(({ id }) => !known.has(id))].filter(
    ({ attribution_basis }) => attribution_basis !== 'age',
  )
}

/** What the records of a category taught, with the state of these records. */
type Known = Map<string, { state: string; learnt: Learnt }>

const figure = (value: number): number | null => (Number.isNaN(value) ? null : round(value))

/**
 * Reads about two thousand decisions however many there are, as recent lessons count most: the newest 80 of each category and its newest
 * 20 failures, or the newest 400 of a category requested on its own. The figures cover all decisions.
 */
async function wisdomOf(
  store: Store,
  phrases: Phrases,
  known: Known,
  { category: wanted, min_decisions }: WisdomQuery,
  { signal, yieldToEventLoop }: Within,
): Promise<Wisdom> {
  const filter: DecisionFilter = { status: ['reviewed'], ...(wanted !== undefined && { category: wanted }) }
  const categories = [...groupsByCategory(await outcomeGroupsByCategory(store.decisions, filter))]
    .map(([category, groups]) => ({ category, groups, count: countOf(groups) }))
    .filter(({ count }) => count >= min_decisions)
    .sort((a, b) => b.count - a.count || (a.category < b.category ? -1 : 1))
  const most = wanted === undefined ? mostOfOne : mostAlone
  const limit = Math.max(fewestOfOne, Math.min(most, Math.floor(maxRead / categories.length)))
  let by_meaning = true
  const comparing = {
    same_distance: phrases.same_distance,
    async vectors(texts: readonly string[]) {
      const found = await phrases.vectors(texts, signal)
      by_meaning &&= texts.every((text) => found.has(text))
      return found
    },
  }
  const found: WisdomEntry[] = []
  for (const [at, { category, groups, count }] of categories.entries()) {
    const records = at * limit < maxRead ? await recordsOf(store, category, groups, limit) : []
    const state = records
      .map((one) => `${one.id} ${one.updated_at} ${one.revision_count} ${one.review_history.length}`)
      .join()
    const before = known.get(category)
    const learnt = before?.state === state ? before.learnt : await learntFrom(records, comparing)
    if (by_meaning) known.set(category, { state, learnt })
    await yieldToEventLoop()
    const { principles, failure_modes, lessons_used, missing } = learnt
    const scored = scoredOf(groups)
    found.push({
      category,
      decisions: count,
      success_rate: figure(meanOf(scored, ({ value }) => value)),
      key_principles: principles,
      reviews_missing: missing,
      common_failure_mode: failure_modes[0]?.text ?? null,
      failure_modes,
      lessons_used,
      avg_confidence: figure(meanOf(statedOf(groups), ({ confidence }) => confidence)),
      brier_score: figure(brierOf(scored)),
    })
  }
  return { categories: found, by_meaning }
}

/** Most answers, to different queries, and most categories that are cached. */
const [maxKept, maxKnown] = [16, 200]

/** Opens a reader over the store. */
export function openWisdom(store: Store, phrases: Phrases): WisdomReader {
  const kept = new Map<string, Wisdom>()
  const known: Known = new Map()
  let kept_at = ''
  return {
    phrases,
    async of(query, within) {
      const { seq, active } = await store.feed.head()
      const at = `${seq} ${active?.number}`
      if (at !== kept_at) kept.clear()
      kept_at = at
      const key = JSON.stringify(query)
      const last = kept.get(key)
      if (last) return last
      if (known.size > maxKnown) known.clear()
      const found = await wisdomOf(store, phrases, known, query, within)
      // If a decision changed in the meantime, the next query reads again.
      if (found.by_meaning && kept_at === at && kept.size < maxKept) kept.set(key, found)
      return found
    },
  }
}

/** Most principles of a session context. */
const maxPatterns = 10

/** The principles in force in any category, as a session context lists them. */
export const confirmedPatterns = ({ categories }: Wisdom) =>
  categories
    .flatMap(({ category, key_principles }) => key_principles.map((principle) => ({ category, ...principle })))
    .filter(({ source }) => source === 'statement')
    .sort((a, b) => b.confirmations - a.confirmations || (a.text < b.text ? -1 : 1))
    .slice(0, maxPatterns)
    .map(({ text, category, confirmations, failures, recorders, confirmed_by, example_ids }) => ({
      pattern: text,
      category,
      count: confirmations,
      failures,
      recorders,
      confirmed_by,
      example_ids,
    }))
