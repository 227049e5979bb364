/** Scores: between 0 and 1, in the order of their parts. */
import { expect, test } from 'bun:test'
import { byScore, candidate, type Question } from '../../../src/domain/search/precedent.ts'
import * as fc from '../../support/property.ts'

const part = fc.double({ min: 0, max: 1, noNaN: true })
const score = fc.double({ min: 0.001, max: 50, noNaN: true })
const question = fc
  .record({ ideal: score, share: fc.double({ min: 0.001, max: 1, noNaN: true }), weight: part, words: fc.nat(64) })
  .map(({ ideal, share, weight, words }): Question => {
    const terms = Array.from({ length: words }, (_, index) => `w${index}`)
    return { vector: new Float32Array(1), side: 'both', terms, ideal, best: share * ideal, weight }
  })

test('parts and their sum are between 0 and 1, and no share is above the part that is made of it', () => {
  fc.assert(
    fc.property(question, part, fc.option(part), (asked, ofBest, distance) => {
      const { share, keyword, combined } = candidate('a', distance, ofBest * asked.best, asked)
      expect(keyword).toBeGreaterThanOrEqual(share)
      for (const value of [share, keyword, combined]) {
        expect(value).toBeGreaterThanOrEqual(0)
        expect(value).toBeLessThanOrEqual(1 + 1e-9)
      }
      const semantic = distance === null ? 0 : 1 - distance
      expect(combined).toBeCloseTo(asked.weight * semantic + (1 - asked.weight) * keyword, 9)
    }),
  )
})

test('more of the words at the same distance never ranks lower', () => {
  fc.assert(
    fc.property(question, part, part, part, (asked, a, b, distance) => {
      const [less, more] = [Math.min(a, b), Math.max(a, b)].map((one) =>
        candidate('a', distance, one * asked.best, asked),
      )
      expect(byScore(more!, { ...less!, id: 'b' })).toBeLessThanOrEqual(0)
    }),
  )
})

test('the best hit by words sets the scale of a long question', () => {
  const asked: Question = { vector: null, side: 'both', terms: [], ideal: 40, best: 8, weight: 0 }
  const parts = [8, 4, 0].map((one) => candidate('a', null, one, asked).keyword)
  expect(parts[0]).toBeCloseTo(0.2 ** 0.25, 9)
  expect(parts[1]).toBeCloseTo(parts[0]! / 2, 9)
  expect(parts[2]).toBe(0)
})

test('a decision that became better than the best meanwhile, and a question of words that nothing holds, have scores too', () => {
  const asked: Question = { vector: null, side: 'both', terms: [], ideal: 40, best: 0, weight: 0 }
  expect(candidate('a', null, 10, asked).keyword).toBeCloseTo(0.25 ** 0.25, 9)
  expect(candidate('a', null, 0, { ...asked, ideal: 0 }).keyword).toBe(0)
})
