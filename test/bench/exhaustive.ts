/** Searches that look at every decision of a store, a page of the feed at a time: what an index is compared with. */
import type { Feed } from '../../sdk/storage/store.ts'
import { scorer, weighingOf } from '../../src/drivers/search/lancedb/score.ts'
import { distanceOf } from '../../src/drivers/search/resident/nearest.ts'

const page = 2_000

export interface Question {
  terms: string[]
  vector: Float32Array
}

/** A value of each decision that was among the best for a question. */
export interface Best {
  /** The best first. */
  hits: { id: string; value: number }[]
}

/** Keeps the `k` best of what it is offered: those with the least `value`. */
function best(k: number) {
  const kept: { id: string; value: number }[] = []
  return {
    kept,
    offer(id: string, value: number): void {
      if (kept.length === k && value >= kept[k - 1]!.value) return
      const at = kept.findIndex((one) => one.value > value)
      kept.splice(at < 0 ? kept.length : at, 0, { id, value })
      if (kept.length > k) kept.pop()
    },
  }
}

async function* feedOf(feed: Feed, generation: number) {
  for (let after = 0; ; ) {
    const entries = await feed.since(after, generation, page)
    if (entries.length === 0) return
    after = entries.at(-1)!.seq
    yield entries.filter(({ fields }) => fields !== null)
  }
}

const lengthOf = (terms: string): number => (terms === '' ? 0 : terms.split(' ').length)

/** For each question the nearest by distance, and the best by words with their scores negated. */
export async function exhaustive(
  feed: Feed,
  generation: number,
  questions: readonly Question[],
  k: number,
): Promise<{ near: Best[]; words: Best[] }> {
  // How many hold each word must be known before a text can be scored.
  const asked = new Set(questions.flatMap(({ terms }) => terms))
  const holding = new Map<string, number>()
  let [decisions, length] = [0, 0]
  for await (const entries of feedOf(feed, 0))
    for (const { terms } of entries) {
      decisions++
      length += lengthOf(terms)
      for (const term of new Set(terms.split(' '))) if (asked.has(term)) holding.set(term, (holding.get(term) ?? 0) + 1)
    }
  const scores = questions.map(({ terms }) =>
    scorer(weighingOf(terms, { decisions, length, holding: terms.map((term) => holding.get(term) ?? 0) })),
  )
  const near = questions.map(() => best(k))
  const words = questions.map(() => best(k))
  for await (const entries of feedOf(feed, generation))
    for (const { id, terms, vectors } of entries) {
      const text = { id, terms, length: lengthOf(terms), indexed: vectors !== null }
      scores.forEach((score, at) => {
        const value = score(text)
        if (value > 0) words[at]!.offer(id, -value)
      })
      if (vectors === null) continue
      for (const [at, { vector }] of questions.entries()) near[at]!.offer(id, distance(vector, vectors.both))
    }
  return { near: near.map(({ kept }) => ({ hits: kept })), words: words.map(({ kept }) => ({ hits: kept })) }
}

function distance(one: Float32Array, other: Float32Array): number {
  let dot = 0
  for (let at = 0; at < other.length; at++) dot += one[at]! * other[at]!
  return distanceOf(dot)
}

/** How many of the best an index has found, as a share; decisions as good as the last one count as that. @param least what counts as equal */
export function recallOf(truth: Best, found: readonly { id: string; value: number }[], least: number): number {
  const last = truth.hits.at(-1)
  if (last === undefined) return 1
  const right = found.slice(0, truth.hits.length).filter(({ value }) => value <= last.value + least)
  return right.length / truth.hits.length
}
