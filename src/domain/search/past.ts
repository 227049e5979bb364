/** Search at an earlier time: candidates come from the current index, and are filtered by their values at that time. */
import { type DecisionReader, readDecisions } from '../../../sdk/storage/decisions.ts'
import { filterFields } from '../../../sdk/storage/fields.ts'
import { compileFilter } from '../../../sdk/storage/filter.ts'
import type { DecisionFields, DecisionFilter, Store } from '../../../sdk/storage/store.ts'
import { fixedOf, type Past } from '../record/history/past.ts'
import type { IndexSync, SearchView } from './index-sync.ts'
import type { SearchTools } from './search.ts'
import { embeddedTexts } from './searched.ts'
import { analyse } from './terms.ts'

/** Most decisions matching today with which a search about the past is complete. */
const maxCandidates = 5_000

/** At least the decisions asked for that existed then. */
type Read = (ids: readonly string[]) => Promise<Map<string, DecisionFields>>

/**
 * The tools of a search about the past.
 * @param most decisions matching today with which a search is complete
 */
export const pastTools = <T extends Omit<SearchTools, 'store'> & { store: Pick<Store, 'decisions'> }>(
  call: T,
  past: Past,
  most = maxCandidates,
): Omit<T, 'store'> & SearchTools => ({
  ...call,
  index: pastIndex(call.index, past, most),
  store: {
    edges: past.store.edges,
    decisions: {
      get: past.store.decisions.get,
      groups: past.store.decisions.groups,
    },
  },
})

/** The current index, as a search about the past sees it. */
function pastIndex(index: Pick<IndexSync, 'once'>, past: Past, most: number): Pick<IndexSync, 'once'> {
  return {
    once: (run) =>
      index.once((view) => {
        // Promises, because a hybrid search asks for the same decisions in two searches at the same time.
        const known = new Map<string, Promise<Map<string, DecisionFields>>>()
        const fieldsThen = async (ids: readonly string[]) =>
          new Map((await past.read(ids)).map(({ record, indexed }) => [record.id, filterFields(record, indexed)]))
        const read: Read = async (ids) => {
          const missing = ids.filter((id) => !known.has(id))
          const reading = missing.length === 0 ? null : fieldsThen(missing)
          if (reading !== null) for (const id of missing) known.set(id, reading)
          const reads = await Promise.all(new Set(ids.map((id) => known.get(id)!)))
          return new Map(reads.flatMap((fields) => [...fields]))
        }
        return run(pastView(view, past, read, most))
      }),
  }
}

/** A view over decisions as they were then. */
export function pastView(view: SearchView, past: Past, read: Read, most = maxCandidates): SearchView {
  /** The hits that passed the filter then. */
  const passed = async <T extends { id: string }>(hits: readonly T[], filter: DecisionFilter): Promise<T[]> => {
    const passes = compileFilter(filter)
    const fields = await read(hits.map(({ id }) => id))
    return hits.filter(({ id }) => fields.has(id) && passes(fields.get(id)!))
  }
  // One more shows that there are more.
  const cap = most + 1
  const incomplete = () =>
    past.limit('more_candidates', `More than ${most} decisions of today match: those of then may be further down`)
  return {
    ...view,
    async nearest({ k, filter, ...query }) {
      const fixed = fixedOf(filter, past.at_ms)
      for (let asked = Math.min(k + 50, cap); ; asked = Math.min(asked * 4, cap)) {
        const hits = await view.nearest({ ...query, k: asked, filter: fixed })
        const found = await passed(hits, filter)
        if (found.length >= k || hits.length < asked) return found.slice(0, k)
        if (asked < cap) continue
        incomplete()
        return found
      }
    },
    async keyword({ filter, limit, ...query }) {
      const fixed = fixedOf(filter, past.at_ms)
      const all = await view.keyword({ ...query, filter: fixed, limit: cap, counted: false })
      const found = await passed(all.hits, filter)
      if (all.hits.length === cap) incomplete()
      const fields = await read(found.map(({ id }) => id))
      const total_unindexed = found.filter(({ id }) => !fields.get(id)!.indexed).length
      const total = query.counted === false ? 0 : found.length
      return { hits: found.slice(0, limit), total, total_unindexed, ideal: all.ideal }
    },
  }
}

/** Other calls have their turn in between. */
const comparedAtOnce = 50
const sameText = 'Found by the text of today, shown as of then: others whose text has changed since may be missing'
const sameStatistics = 'Scores use the word statistics of today'

/** Notes which decisions of an answer had a different text then, and, if their words were scored, that the statistics are current. */
export async function limitSearch(
  past: Past,
  store: { decisions: Pick<DecisionReader, 'get'> },
  ids: readonly string[],
  by_words = false,
): Promise<void> {
  await past.noteErased()
  if (by_words) past.limit('current_statistics', sameStatistics)
  const textOf = ({ record }: Awaited<ReturnType<Past['read']>>[number]) =>
    JSON.stringify([embeddedTexts(record), analyse(record)])
  const changed: string[] = []
  for (let from = 0; from < ids.length; from += comparedAtOnce) {
    const some = ids.slice(from, from + comparedAtOnce)
    const then = new Map((await past.read(some)).map((one) => [one.record.id, textOf(one)]))
    for (const one of await readDecisions(store.decisions, some))
      if (then.get(one.record.id) !== textOf(one)) changed.push(one.record.id)
  }
  if (changed.length > 0) past.limit('text_changed_since', sameText, changed)
}
