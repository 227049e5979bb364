/** What counts as a precedent: by meaning, by words, and by how many words of the question nobody ever wrote. */
import { expect, test } from 'bun:test'
import { isPrecedent, precedentsAmong } from '../../../src/domain/search/precedent.ts'
import * as fc from '../../support/property.ts'

const part = fc.double({ min: 0, max: 1, noNaN: true })
const embedder = { precedent_distance: 0.61 }

test('nearer, more of the words, or fewer unknown ones never make it less of a precedent', () => {
  fc.assert(
    fc.property(
      fc.record({ distance: part, share: part, unknown: part, terms: fc.nat(64), by_meaning: fc.boolean() }),
      part,
      ({ distance, share, ...asked }, better) => {
        if (!isPrecedent({ distance, share }, asked, embedder)) return
        expect(isPrecedent({ distance: distance * better, share }, asked, embedder)).toBe(true)
        expect(isPrecedent({ distance, share: Math.max(share, better) }, asked, embedder)).toBe(true)
        expect(isPrecedent({ distance, share }, { ...asked, unknown: asked.unknown * better }, embedder)).toBe(true)
      },
    ),
  )
})

test('of questions that are equally near, one of words that nobody wrote has no precedent', () => {
  const hit = { distance: 0.58, share: 0.2 }
  const asked = { terms: 10, unknown: 0, by_meaning: true }
  expect(isPrecedent(hit, asked, embedder)).toBe(true)
  expect(isPrecedent(hit, { ...asked, unknown: 0.5 }, embedder)).toBe(false)
})

test('many of its words are a precedent although the meaning is far, a few are not', () => {
  const asked = { terms: 5, unknown: 0, by_meaning: true }
  expect(isPrecedent({ distance: 0.73, share: 0.4 }, asked, embedder)).toBe(true)
  expect(isPrecedent({ distance: 0.73, share: 0.2 }, asked, embedder)).toBe(false)
})

test('a hit found by meaning alone is judged by its words too, which are looked up only then', async () => {
  let lookedUp = 0
  const index = (score: number) => ({
    nearTerms: async () => [{ term: 'x', edits: 0, decisions: 1 }],
    keyword: async () => {
      lookedUp++
      return { hits: [], total: 0, total_unindexed: 0, ideal: 10 }
    },
    scores: async () => new Map([['a', score]]),
  })
  const found = (distance: number) => [{ id: 'a', distance, share: 0, keyword: 0, combined: 0 }]
  const asked = (distance: number, score: number) =>
    precedentsAmong({ index: index(score), embedder }, 'five words of a question', found(distance), {
      by_meaning: true,
      by_words: false,
    })
  expect([...(await asked(0.4, 0))]).toEqual(['a'])
  expect(lookedUp).toBe(0)
  expect([...(await asked(0.73, 1))]).toEqual([])
  expect([...(await asked(0.73, 6))]).toEqual(['a'])
  expect(lookedUp).toBe(2)
})
