/**
 * One generation as a tail and segments. The tail holds the newest changes in memory and answers exactly; segments give candidates,
 * which are scored by the same formula over the counts of both, so answers don't depend on where a decision is stored.
 */
import type { KeywordResult, SearchGeneration, SearchIndex, VectorHit } from '../../../../sdk/storage/search.ts'
import { checkVector } from '../../../../sdk/storage/vector-checks.ts'
import { openResidentIndex } from '../resident/index.ts'
import type { Corpus } from '../resident/keywords.ts'
import { nearestTerms } from '../resident/near-terms.ts'
import { allOf } from './gate.ts'
import { openKeeper } from './keeper.ts'
import type { Place } from './place.ts'
import { scorer, weighingOf } from './score.ts'
import type { Segment } from './segment.ts'

/** When a store with segments is closed, at most this share of a full tail is not written to segments. */
const LEFT = 10
/** A tail with more than this many times the changes of a segment waits until they are written. */
const PATIENCE = 2

const byDistance = (a: VectorHit, b: VectorHit) => a.distance - b.distance || (a.id < b.id ? -1 : 1)
const byScore = (a: { id: string; score: number }, b: { id: string; score: number }) =>
  b.score - a.score || (a.id < b.id ? -1 : 1)

export async function openSegmentedIndex(
  place: Place,
  generation: SearchGeneration,
  worker_from: number,
): Promise<SearchIndex> {
  const { dimensions } = generation
  const tail = openResidentIndex(dimensions, worker_from)
  const keeper = await openKeeper(place, generation, tail)
  const { shadow } = keeper
  /** For each running search: the decisions that the tail has hidden since it began. */
  const running = new Set<Set<string>>()

  /**
   * Repeats the search if a decision that it met has changed: the tail may have been asked before it held the change, or a segment before
   * the decision was hidden.
   */
  async function search<T>(work: (segments: readonly Segment[], isHidden: IsHidden) => Promise<T>): Promise<T> {
    const late = new Set<string>()
    const looked: string[] = []
    const isHidden = (id: string): boolean => {
      looked.push(id)
      return keeper.isHidden(id)
    }
    running.add(late)
    try {
      const answer = await keeper.search((segments) => work(segments, isHidden))
      if (late.size === 0 || !looked.some((id) => late.has(id))) return answer
    } finally {
      running.delete(late)
    }
    return search(work)
  }

  /** The counts of both: of the segments, without hidden decisions, and of the tail. */
  const corpus = (own: Corpus, rest: Corpus): Corpus => ({
    decisions: own.decisions + rest.decisions,
    length: own.length + rest.length,
    holding: own.holding.map((held, at) => held + rest.holding[at]!),
  })

  /** Asks a segment for more until enough of its best are not hidden. */
  async function visible<T extends { id: string }>(
    wanted: number,
    isHidden: IsHidden,
    ask: (limit: number) => Promise<T[]>,
  ): Promise<T[]> {
    for (let asked = wanted; ; ) {
      const found = await ask(asked)
      const kept = found.filter(({ id }) => !isHidden(id))
      const hidden = found.length - kept.length
      if (asked - hidden >= wanted || found.length < asked) return kept
      asked = wanted + 2 * hidden
    }
  }

  async function counted(segment: Segment, terms: readonly string[], filter: SearchFilter): Promise<number> {
    const all = await segment.count(terms, filter)
    const hidden = all === 0 ? [] : shadow.of(segment)
    if (hidden.length === 0) return all
    return (
      all -
      (await segment.count(
        terms,
        filter,
        hidden.map(({ id }) => id),
      ))
    )
  }

  return {
    watermark: async () => keeper.applied(),
    async apply(entries, watermark) {
      // Sent by a process that is behind.
      if (watermark < keeper.applied()) return
      await tail.apply(entries, watermark)
      for (const { id } of entries) if (!keeper.isHidden(id)) for (const late of running) late.add(id)
      for (const { id, value } of entries) keeper.took(id, watermark, value?.terms ?? null)
      keeper.skipTo(watermark)
      if (keeper.fresh.size >= PATIENCE * place.tail_most) await keeper.flush().catch(() => {})
    },
    fill: (pages, watermark) => keeper.fill(pages, watermark),
    async nearest({ vector, side, k, filter, exact = false, within = 2 }) {
      checkVector(vector, dimensions, 'The vector of the query')
      if (k <= 0) return []
      return search(async (segments, isHidden) => {
        const found = await allOf([
          tail.nearest({ vector, side, k, filter, exact, within }),
          ...segments.map((segment) =>
            visible(k, isHidden, (limit) => segment.nearest({ vector, side, k: limit, filter, exact, within })),
          ),
        ])
        return found.flat().sort(byDistance).slice(0, k)
      })
    },
    async distances({ vector, side, ids }) {
      checkVector(vector, dimensions, 'The vector of the query')
      return search(async (segments, isHidden) => {
        const rest = ids.filter((id) => !isHidden(id))
        const own = await tail.distances({ vector, side, ids })
        if (rest.length === 0) return own
        const found = await allOf(segments.map((segment) => segment.distances({ vector, side, ids: rest })))
        for (const { id, distance } of found.flat()) own.set(id, distance)
        return inOrder(ids, own)
      })
    },
    keyword: ({ terms, filter, limit, counted: isCounted = true }) =>
      search(async (segments, isHidden): Promise<KeywordResult> => {
        if (segments.length === 0 || terms.length === 0)
          return tail.keyword({ terms, filter, limit, counted: isCounted })
        const beyond = await shadow.rest(segments, terms)
        const weighing = weighingOf(terms, corpus(tail.corpus(terms), beyond))
        const score = scorer(weighing)
        const [own, ...others] = await allOf([
          tail.keyword({ terms, filter, limit, counted: isCounted, beyond }),
          ...segments.map(async (segment) => {
            const [texts, total, total_unindexed] = await allOf([
              limit === 0
                ? []
                : visible(segment.enough(limit), isHidden, (most) => segment.candidates(weighing, filter, most)),
              isCounted ? counted(segment, terms, filter) : 0,
              segment.facts.indexed === segment.facts.decisions || filter.indexed === true
                ? 0
                : counted(segment, terms, { ...filter, indexed: false }),
            ])
            return { hits: texts.map((text) => ({ id: text.id, score: score(text) })), total, total_unindexed }
          }),
        ])
        const all = [own, ...others]
        return {
          hits: all
            .flatMap(({ hits }) => hits)
            .sort(byScore)
            .slice(0, limit),
          total: all.reduce((sum, { total }) => sum + total, 0),
          total_unindexed: all.reduce((sum, one) => sum + one.total_unindexed, 0),
          ideal: own.ideal,
        }
      }),
    scores: ({ terms, ids }) =>
      search(async (segments, isHidden) => {
        const rest = ids.filter((id) => !isHidden(id))
        if (segments.length === 0 || (rest.length === 0 && terms.length === 0)) return tail.scores({ terms, ids })
        const beyond = await shadow.rest(segments, terms)
        const score = scorer(weighingOf(terms, corpus(tail.corpus(terms), beyond)))
        const own = await tail.scores({ terms, ids, beyond })
        if (rest.length === 0) return own
        for (const texts of await allOf(segments.map((segment) => segment.texts(rest))))
          for (const text of texts) own.set(text.id, score(text))
        return inOrder(ids, own)
      }),
    holding: ({ terms }) =>
      search(async (segments, isHidden) => {
        const [own, ...others] = await allOf([
          tail.holding({ terms }),
          ...segments.map((segment) => segment.holding(terms)),
        ])
        return [...own!, ...others.flat().filter((id) => !isHidden(id))]
      }),
    nearTerms: ({ term, max_edits, limit }) =>
      search(async (segments) => {
        if (segments.length === 0) return tail.nearTerms({ term, max_edits, limit })
        // Most words of a question occur in the index: an exact look-up finds them without a search for near words.
        const own = corpus(tail.corpus([term]), await shadow.rest(segments, [term])).holding[0]!
        if (own > 0 && (limit === 1 || max_edits === 0)) return [{ term, edits: 0, decisions: own }].slice(0, limit)
        if (max_edits === 0) return []
        const held = new Map<string, number>()
        const add = (word: string, decisions: number) => held.set(word, (held.get(word) ?? 0) + decisions)
        for (const one of await tail.nearTerms({ term, max_edits, limit: Number.POSITIVE_INFINITY }))
          add(one.term, one.decisions)
        for (const words of await allOf(segments.map((segment) => segment.near(term, max_edits))))
          for (const [word, decisions] of words) add(word, decisions)
        const known = [...held].flatMap(([word, decisions]): [string, number][] => {
          const left = decisions - shadow.holding(word)
          return left > 0 ? [[word, left]] : []
        })
        return nearestTerms(known, term, max_edits, limit)
      }),
    async state() {
      const { decisions, indexed } = await tail.state()
      const facts = keeper.facts()
      const hidden = await search(async () => shadow.sums())
      return {
        decisions: facts.reduce((sum, one) => sum + one.decisions, decisions - hidden.decisions),
        indexed: facts.reduce((sum, one) => sum + one.indexed, indexed - hidden.indexed),
        tail: keeper.fresh.size,
        segments: facts.length,
        building: keeper.building(),
      }
    },
    purge: (ids) => keeper.purge(ids),
    async maintain() {
      if (keeper.fresh.size >= place.tail_most) await keeper.flush()
    },
    async close() {
      // Changes in memory are read again at the next start.
      // A segment that contains erased decisions is rewritten, which takes long.
      if (keeper.facts().length > 0 && keeper.fresh.size >= place.tail_most / LEFT && keeper.gone().length === 0)
        await keeper.flush(0).catch(() => {})
      await keeper.close()
      await tail.close()
    },
  }
}

/** The known entries, in the requested order. */
const inOrder = (ids: readonly string[], known: Map<string, number>): Map<string, number> =>
  new Map(ids.flatMap((id) => (known.has(id) ? [[id, known.get(id)!]] : [])))

type IsHidden = (id: string) => boolean
type SearchFilter = Parameters<Segment['count']>[1]
