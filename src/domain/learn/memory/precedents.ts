/** What of a search a model is shown: the precedents, each with its successor in its place. Every answer that a model reads takes them from here. */
import type * as v from 'valibot'
import type { PublishedHits, QueryHit } from '../../../../sdk/schema/hit.ts'
import { parseRecord } from '../../../../sdk/storage/decisions.ts'
import type { DecisionReader } from '../../../../sdk/storage/store.ts'
import { isUnadopted } from '../../record/decision/decision.ts'
import { type Hit, hitOf } from '../../record/decision/hits.ts'
import { type PublishedTools, searchPublished } from '../../search/published.ts'
import { precedentInput, type SearchResult } from '../../search/search.ts'

/** A decision that a model is shown. */
export interface Shown {
  hit: QueryHit
  /** The whole text, of which the title is the beginning. */
  decision: string
  weak: boolean
  /** The share of the best hit's score, up to 1. */
  relevance: number
  /** The decisions that it replaced, directly or through others; they bear on the task as well. */
  replaced: Shown[]
  /** The decision that replaced it; null unless it is shown for itself. */
  replaced_by: Pick<QueryHit, 'id' | 'title'> | null
}

export const isFailure = ({ outcome }: Pick<QueryHit, 'outcome'>): boolean =>
  outcome === 'failure' || outcome === 'partial' || outcome === 'abandoned'

/** Most hits that only may fit, and how near to the best one each must be: of those farther away one in eleven bore on a question about the shop or the clinic. */
const maxWeak = 2
const weakFloor = 0.85
/**
 * The relevance that a hit needs: the more are shown before it, the nearer it must be to the best one. In a large store the tenth hit is a
 * precedent by its distance alone, and says nothing new. A failure counts more, since to miss it costs more; one that was replaced is no
 * danger anymore. Chosen on the tasks for development of test/eval/context.jsonl.
 */
const floorAt = (place: number): number => Math.min(0.75 + 0.1 * place, 0.95)
const failureWeight = 1.25
const weightOf = ({ relevance, hit }: Shown): number => relevance * (isFailure(hit) ? failureWeight : 1)

/** Longest chain of successors that is followed. */
const maxChain = 10

type Reader = Pick<DecisionReader, 'get'>

export const shownOf = (hit: Hit, relevance = 1, weak = false): Shown => ({
  hit: hitOf(hit),
  decision: parseRecord(hit.text).decision,
  weak,
  relevance,
  replaced: [],
  replaced_by: null,
})

/** Names the successors that are not shown themselves. */
export async function withSuccessors(decisions: Reader, shown: readonly Shown[]): Promise<Shown[]> {
  const ids = shown.flatMap(({ hit }) => hit.superseded_by ?? [])
  const texts = ids.length === 0 ? [] : await decisions.get([...new Set(ids)])
  const titles = new Map(texts.map((text) => [text.id, parseRecord(text).title]))
  return shown.map((one) => {
    const id = one.hit.superseded_by
    const title = id === null ? undefined : titles.get(id)
    return id === null || title === undefined ? one : { ...one, replaced_by: { id, title } }
  })
}

/**
 * The hits that are precedents, and at most two of those that only may be. A decision that was replaced is shown with its successor, in the
 * place of the better one of them, unless the search ranked the successor lower: nobody moves a decision up by retiring his own.
 */
export async function precedentsOf(
  decisions: Reader,
  { hits, states, index }: Pick<SearchResult, 'hits' | 'states' | 'index'>,
): Promise<Shown[]> {
  const best = Math.max(...hits.map(({ scores }) => scores?.combined ?? 0), Number.MIN_VALUE)
  const groups = new Map<string, { shown: Shown; found: boolean; fits: boolean }>()
  const successors = new Map(hits.map(({ text, superseded_by }) => [text.id, superseded_by]))
  /** The last successor among the hits above. */
  const headOf = (id: string): string => {
    let head = id
    for (let step = 0, next = successors.get(id); next && step < maxChain; step++, next = successors.get(next))
      if (groups.has(next)) head = next
    return head
  }
  for (const [at, hit] of hits.entries()) {
    if (isUnadopted(parseRecord(hit.text))) continue
    const one = shownOf(hit, (hit.scores?.combined ?? 0) / best)
    const found = states[at] === 'found'
    // While the index is incomplete, words alone don't deny a hit.
    const fits = states[at] !== 'none' || (!index.complete && at < maxWeak)
    const group = groups.get(headOf(one.hit.id))
    if (group === undefined) groups.set(one.hit.id, { shown: one, found, fits })
    else {
      group.found ||= found
      group.fits ||= fits
      group.shown.relevance = Math.max(group.shown.relevance, one.relevance)
      if (fits) group.shown.replaced.push(one)
    }
  }
  const shown: Shown[] = []
  for (const { shown: one, found, fits } of groups.values()) {
    const isNear = found ? weightOf(one) >= floorAt(shown.length) : one.relevance >= weakFloor
    if (!fits || (shown.length > 0 && !isNear)) continue
    if (found || shown.filter(({ weak }) => weak).length < maxWeak) shown.push({ ...one, weak: !found })
  }
  return withSuccessors(decisions, shown)
}

/** The hits in the order in which they are shown, each marked if it only may fit. */
export const hitsOf = (shown: readonly Shown[]): QueryHit[] =>
  shown.flatMap(({ hit, weak, replaced }) =>
    [hit, ...replaced.map((one) => one.hit)].map((one) => (weak ? { ...one, weak } : one)),
  )

/** A decision that another workspace has published. */
export interface PublishedShown extends Shown {
  /** Null for the default one. */
  workspace: string | null
}

/**
 * What other workspaces have published that is a precedent of a plan or a task, best first. What was replaced is left out: its successor
 * may not be published.
 */
export async function publishedPrecedents(
  tools: PublishedTools,
  query: string,
  limit: number,
): Promise<PublishedShown[]> {
  const found = await searchPublished(tools, precedentInput(query, limit))
  return found
    .filter((hit) => hit.state === 'found' && hit.superseded_by === null && !isUnadopted(parseRecord(hit.text)))
    .map((hit) => ({ ...shownOf(hit), workspace: hit.workspace }))
}

/** The entry of an answer; none if there are none. */
export const publishedOf = (shown: readonly PublishedShown[]): { published?: v.InferOutput<typeof PublishedHits> } =>
  shown.length === 0 ? {} : { published: shown.map(({ workspace, hit }) => ({ workspace, ...hit })) }
