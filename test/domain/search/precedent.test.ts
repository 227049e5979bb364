/** What counts as a precedent: by meaning, by words, and by how many decisions were searched. */
import { expect, test } from 'bun:test'
import { better, judgeHits, precedentStates, stateOf } from '../../../src/domain/search/precedent.ts'
import * as fc from '../../support/property.ts'

const part = fc.double({ min: 0, max: 1, noNaN: true })
const embedder = { precedent_distance: 0.61 }

test('nearer, more of the words, or among fewer decisions never makes it less of a precedent', () => {
  fc.assert(
    fc.property(
      fc.record({
        distance: part,
        share: part,
        decisions: fc.nat(100_000),
        terms: fc.nat(64),
        by_meaning: fc.boolean(),
      }),
      part,
      ({ distance, share, ...asked }, more) => {
        const before = stateOf({ distance, share }, asked, embedder)
        const better_ones = [
          stateOf({ distance: distance * more, share }, asked, embedder),
          stateOf({ distance, share: Math.max(share, more) }, asked, embedder),
          stateOf({ distance, share }, { ...asked, decisions: Math.floor(asked.decisions * more) }, embedder),
        ]
        for (const state of better_ones) expect(better(state, before)).toBe(state)
      },
    ),
  )
})

test('the same hit is found among five decisions, weak among five hundred, and none among a million', () => {
  const asked = (decisions: number) => ({ terms: 8, decisions, by_meaning: true })
  const hit = { distance: 0.68, share: 0.15 }
  expect([5, 500, 1_000_000].map((decisions) => stateOf(hit, asked(decisions), embedder))).toEqual([...precedentStates])
})

test('by words alone no hit with one of them is denied: others may have been used', () => {
  const asked = { terms: 5, decisions: 500, by_meaning: false }
  expect(stateOf({ distance: null, share: 0.4 }, asked, embedder)).toBe('found')
  expect(stateOf({ distance: null, share: 0.05 }, asked, embedder)).toBe('weak')
  expect(stateOf({ distance: null, share: 0 }, asked, embedder)).toBe('none')
})

test('a hit found by meaning alone is judged by its words too, which are looked up only then', async () => {
  let lookedUp = 0
  const index = (score: number) => ({
    keyword: async () => {
      lookedUp++
      return { hits: [], total: 0, total_unindexed: 0, ideal: 10 }
    },
    scores: async () => new Map([['a', score]]),
  })
  const found = (distance: number) => [{ id: 'a', distance, share: 0, keyword: 0, combined: 0 }]
  const asked = async (distance: number, score: number) => {
    const searched = { decisions: 60, by_meaning: true, by_words: false }
    const tools = { index: index(score), embedder }
    return (await judgeHits(tools, 'five words of a question', found(distance), searched)).get('a')
  }
  expect(await asked(0.4, 0)).toBe('found')
  expect(lookedUp).toBe(0)
  expect(await asked(0.85, 1)).toBe('none')
  expect(await asked(0.85, 7)).toBe('found')
  expect(lookedUp).toBe(2)
})
