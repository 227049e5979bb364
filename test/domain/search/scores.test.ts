/** Scores: between 0 and 1, in the order of their parts. */
import { expect, test } from 'bun:test'
import { byScore, candidate, type Question } from '../../../src/domain/search/precedent.ts'
import * as fc from '../../support/property.ts'

const part = fc.double({ min: 0, max: 1, noNaN: true })
const score = fc.double({ min: 0.001, max: 50, noNaN: true })
const question = fc
  .record({ ideal: score, weight: part, words: fc.nat(64) })
  .map(({ ideal, weight, words }): Question => {
    const terms = Array.from({ length: words }, (_, index) => `w${index}`)
    return { vector: new Float32Array(1), side: 'both', terms, ideal, weight }
  })

test('parts and their sum are between 0 and 1', () => {
  fc.assert(
    fc.property(question, part, fc.option(part), (asked, ofIdeal, distance) => {
      const { share, keyword, combined } = candidate('a', distance, ofIdeal * asked.ideal, asked)
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
        candidate('a', distance, one * asked.ideal, asked),
      )
      expect(byScore(more!, { ...less!, id: 'b' })).toBeLessThanOrEqual(0)
    }),
  )
})

test('a hit by stray words hardly counts beside meaning, one that has half of the question does', () => {
  const asked: Question = { vector: null, side: 'both', terms: [], ideal: 40, weight: 0.7 }
  const combined = (distance: number, share: number) => candidate('a', distance, share * asked.ideal, asked).combined
  expect(combined(0.5, 0)).toBeGreaterThan(combined(0.55, 0.12))
  expect(combined(0.5, 0.1)).toBeLessThan(combined(0.65, 0.5))
  expect(candidate('a', null, 0.3 * asked.ideal, asked).keyword).toBeCloseTo(0.5, 9)
})

test('a question of words that nothing holds has scores too', () => {
  const asked: Question = { vector: null, side: 'both', terms: [], ideal: 0, weight: 0 }
  expect(candidate('a', null, 0, asked).keyword).toBe(0)
})
