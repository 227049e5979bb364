/** An inverted index in memory, with exact BM25 scores over all decisions. */

import { enlarged } from '../../../core/enlarged.ts'
import { type Saturation, saturation, share, tabled, weight } from './bm25.ts'
import { addPosting, frequencyIn, maxEntries, newPosting, type Posting, renumbered, reserve } from './postings.ts'
import { top } from './top.ts'

/** Terms by their number in a dictionary; undefined for a term that is not in the corpus. */
export type TermNumbers = readonly (number | undefined)[]

/** The terms of a text as pairs of number and frequency, and its length in terms, with repetitions. */
export interface CountedTerms {
  pairs: readonly number[]
  length: number
}

/** Statistics for some terms: the number of decisions, the sum of their lengths, and how many decisions contain each of the terms. */
export interface Corpus {
  decisions: number
  length: number
  holding: readonly number[]
}

export interface KeywordIndex {
  /** Replaces the terms of each slot. */
  set(texts: readonly { slot: number; terms: CountedTerms }[]): void
  remove(slot: number): void
  /** The best slots that contain a term and pass `accept`; `total` counts all such slots. */
  search(query: {
    terms: TermNumbers
    accept(slot: number): boolean
    /** Order of slots with equal scores. */
    tie(a: number, b: number): number
    limit: number
    /** Decisions outside this index that count too. */
    beyond?: Corpus | undefined
  }): { hits: { slot: number; score: number }[]; total: number }
  /** How many decisions contain a term. */
  holding(term: number): number
  /** 0 if no term occurs. */
  score(terms: TermNumbers, slot: number, beyond?: Corpus): number
  /** Slots that contain all of the terms, of which there must be at least one. */
  slotsWithAll(terms: TermNumbers): number[]
  /** The highest possible score for these terms. */
  ideal(terms: TermNumbers, beyond?: Corpus): number
  /** The corpus of this index. */
  corpus(terms: TermNumbers): Corpus
}

const nothing: Corpus = { decisions: 0, length: 0, holding: [] }

export function keywordIndex(): KeywordIndex {
  // Each text that is set gets a new entry. Entry numbers ascend, so posting lists only grow at their end. The entry of a replaced text
  // is dead until the next sweep.
  const postings: (Posting | undefined)[] = []
  let slots = new Uint32Array(1024)
  let lengths = new Int32Array(1024)
  let alive = new Uint8Array(1024)
  let scores = new Float64Array(1024)
  let entries = 0
  let live = 0
  let live_length = 0
  let deaths = 0
  let shares = saturation(0, 0)
  let shares_of = { all: 0, all_length: 0 }
  const entryOf: (number | undefined)[] = []

  const postingOf = (term: number | undefined) => (term === undefined ? undefined : postings[term])

  function documents(posting: Posting | undefined): number {
    if (posting === undefined) return 0
    if (live === entries) return posting.size
    if (posting.counted_deaths !== deaths || posting.counted_size !== posting.size) {
      posting.documents = countAlive(posting, alive)
      posting.counted_deaths = deaths
      posting.counted_size = posting.size
    }
    return posting.documents
  }

  const bestOf = (terms: TermNumbers, beyond: Corpus = nothing): number[] =>
    terms.map((term, at) => weight(live + beyond.decisions, documents(postingOf(term)) + (beyond.holding[at] ?? 0)))

  function currentShares({ decisions, length }: Corpus = nothing): Saturation {
    const [all, all_length] = [live + decisions, live_length + length]
    if (shares_of.all !== all || shares_of.all_length !== all_length) {
      shares = saturation(all, all_length)
      shares_of = { all, all_length }
    }
    return shares
  }

  function remove(slot: number): void {
    const entry = entryOf[slot]
    if (entry === undefined) return
    entryOf[slot] = undefined
    alive[entry] = 0
    live--
    live_length -= lengths[entry]!
    deaths++
  }

  function sweep(): void {
    const numbers = new Int32Array(entries).fill(-1)
    let next = 0
    for (let entry = 0; entry < entries; entry++) {
      if (alive[entry] === 0) continue
      numbers[entry] = next
      slots[next] = slots[entry]!
      lengths[next] = lengths[entry]!
      entryOf[slots[next]!] = next
      next++
    }
    alive.fill(0).fill(1, 0, next)
    entries = next
    for (let term = 0; term < postings.length; term++) {
      const posting = postings[term]
      if (posting !== undefined) postings[term] = renumbered(posting, numbers)
    }
  }

  function newEntry(slot: number, length: number): number {
    if (entries === slots.length) {
      slots = enlarged(slots, entries * 2)
      lengths = enlarged(lengths, entries * 2)
      alive = enlarged(alive, entries * 2)
      scores = new Float64Array(entries * 2)
    }
    slots[entries] = slot
    lengths[entries] = length
    alive[entries] = 1
    entryOf[slot] = entries
    live++
    live_length += length
    return entries++
  }

  return {
    set(texts) {
      for (const { slot } of texts) remove(slot)
      const dead = entries - live
      if ((dead > 1_024 && dead * 2 > live) || entries + texts.length > maxEntries) sweep()
      // If a slot is listed twice, the last terms count; the entries before are dead.
      const added = texts.map(({ slot, terms }) => {
        remove(slot)
        return { entry: newEntry(slot, terms.length), pairs: terms.pairs }
      })
      append(added, postings)
    },
    remove,
    search({ terms, accept, tie, limit, beyond }) {
      scores.fill(0, 0, entries)
      const by = currentShares(beyond)
      const best = bestOf(terms, beyond)
      terms.forEach((term, at) => {
        const posting = postingOf(term)
        if (posting !== undefined) addScores(posting, best[at]!, by, lengths, scores)
      })
      return ranked({ scores, alive, slots, entries }, accept, tie, limit)
    },
    holding: (term) => documents(postingOf(term)),
    score(terms, slot, beyond) {
      const entry = entryOf[slot]
      if (entry === undefined) return 0
      const by = currentShares(beyond)
      const best = bestOf(terms, beyond)
      return terms.reduce<number>((score, term, at) => {
        const posting = postingOf(term)
        const frequency = posting === undefined ? 0 : frequencyIn(posting, entry)
        return frequency > 0 ? score + best[at]! * share(by, frequency, lengths[entry]!) : score
      }, 0)
    },
    slotsWithAll(terms) {
      const [rarest, ...others] = terms.map(postingOf).sort((x, y) => (x?.size ?? 0) - (y?.size ?? 0))
      const found: number[] = []
      for (let at = 0; at < (rarest?.size ?? 0); at++) {
        const entry = rarest!.packed[at]! >>> 8
        if (alive[entry] === 0) continue
        if (others.every((other) => other !== undefined && frequencyIn(other, entry) > 0)) found.push(slots[entry]!)
      }
      return found
    },
    ideal: (terms, beyond) => bestOf(terms, beyond).reduce((sum, best) => sum + best, 0),
    corpus: (terms) => ({
      decisions: live,
      length: live_length,
      holding: terms.map((term) => documents(postingOf(term))),
    }),
  }
}

/** Appends the terms of ascending entries, term by term: a posting list that is extended for many entries at once costs one cache miss, not many. */
function append(
  added: readonly { entry: number; pairs: readonly number[] }[],
  postings: (Posting | undefined)[],
): void {
  let terms = 0
  let total = 0
  for (const { pairs } of added) {
    total += pairs.length / 2
    for (let at = 0; at < pairs.length; at += 2) if (pairs[at]! >= terms) terms = pairs[at]! + 1
  }
  while (postings.length < terms) postings.push(undefined)
  if (total < terms) {
    for (const { entry, pairs } of added)
      for (let at = 0; at < pairs.length; at += 2) {
        const posting = postings[pairs[at]!] ?? newPosting()
        postings[pairs[at]!] = posting
        addPosting(posting, entry, pairs[at + 1]!)
      }
    return
  }
  const ends = new Uint32Array(terms + 1)
  for (const { pairs } of added) for (let at = 0; at < pairs.length; at += 2) ends[pairs[at]! + 1]!++
  for (let term = 0; term < terms; term++) ends[term + 1]! += ends[term]!
  const next = ends.slice()
  const [entries, frequencies] = [new Uint32Array(total), new Uint32Array(total)]
  for (const { entry, pairs } of added)
    for (let at = 0; at < pairs.length; at += 2) {
      const place = next[pairs[at]!]!++
      entries[place] = entry
      frequencies[place] = pairs[at + 1]!
    }
  for (let term = 0; term < terms; term++) {
    const [from, to] = [ends[term]!, ends[term + 1]!]
    if (from === to) continue
    const posting = postings[term] ?? newPosting()
    postings[term] = posting
    reserve(posting, to - from)
    for (let at = from; at < to; at++) addPosting(posting, entries[at]!, frequencies[at]!)
  }
}

// These loops are separate functions so that they are compiled with their arrays in registers; inside the closure they took three times as long.

function countAlive({ packed, size }: Posting, alive: Uint8Array): number {
  let count = 0
  for (let at = 0; at < size; at++) count += alive[packed[at]! >>> 8]!
  return count
}

function addScores(posting: Posting, best: number, by: Saturation, lengths: Int32Array, scores: Float64Array): void {
  const { packed, size } = posting
  const { table } = by
  for (let at = 0; at < size; at++) {
    const value = packed[at]!
    const entry = value >>> 8
    const frequency = value & 255
    const length = lengths[entry]!
    // The look-up of `share` is repeated here because the call was not inlined.
    let part = frequency < tabled.frequency && length < tabled.length ? table[(frequency << tabled.bits) + length]! : 0
    if (part === 0) part = share(by, frequency === 255 ? posting.frequent!.get(entry)! : frequency, length)
    scores[entry] = scores[entry]! + best * part
  }
}

function ranked(
  { scores, alive, slots, entries }: { scores: Float64Array; alive: Uint8Array; slots: Uint32Array; entries: number },
  accept: (slot: number) => boolean,
  tie: (a: number, b: number) => number,
  limit: number,
): { hits: { slot: number; score: number }[]; total: number } {
  const first = top<number>(limit, (a, b) => scores[b]! - scores[a]! || tie(slots[a]!, slots[b]!))
  let total = 0
  // Most candidates score below the last of those kept, and need not be offered.
  let needed = 0
  for (let entry = 0; entry < entries; entry++) {
    const score = scores[entry]!
    if (score === 0 || alive[entry] === 0 || !accept(slots[entry]!)) continue
    total++
    if (score < needed) continue
    first.offer(entry)
    const last = first.last()
    if (last !== undefined) needed = scores[last]!
  }
  return { hits: first.take().map((entry) => ({ slot: slots[entry]!, score: scores[entry]! })), total }
}
