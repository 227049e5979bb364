/** Scores: between 0 and 1, in the order of their parts. */
import { expect, test } from 'bun:test'
import { byScore, candidate, type Question } from '../../../src/domain/search/precedent.ts'
import * as fc from '../../support/property.ts'

const part = fc.double({ min: 0, max: 1, noNaN: true })
const score = fc.double({ min: 0.001, max: 50, noNaN: true })
const question = fc
  .record({ ideal: score, best: fc.double({ min: 0, max: 0.99, noNaN: true }), weight: part, words: fc.nat(64) })
  .map(({ ideal, best, weight, words }): Question => {
    const terms = Array.from({ length: words }, (_, index) => `w${index}`)
    return { vector: new Float32Array(1), side: 'both', terms, ideal, best: best * ideal, weight }
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
      expect(combined).toBeGreaterThanOrEqual(Math.min(semantic, keyword) - 1e-9)
      expect(combined).toBeLessThanOrEqual(Math.max(semantic, keyword) + 1e-9)
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

/** A question whose best hit by words explains this share of it. */
const askedBeside = (best: number): Question => ({
  ...{ vector: null, side: 'both', terms: [], ideal: 40, weight: 0.7 },
  best: 40 * best,
})

test('a hit by stray words hardly counts beside meaning, one that has half of the question does', () => {
  const combined = (distance: number, share: number, best: number) =>
    candidate('a', distance, 40 * share, askedBeside(best)).combined
  expect(combined(0.5, 0, 0.12)).toBeGreaterThan(combined(0.55, 0.12, 0.12))
  expect(combined(0.5, 0.1, 0.5)).toBeLessThan(combined(0.65, 0.5, 0.5))
  expect(candidate('a', null, 40 * 0.3, askedBeside(0.3)).keyword).toBeCloseTo(0.5, 9)
})

test('the more the best hit by words explains, the less a nearer one counts that explains less', () => {
  const lead = (best: number, less: number) => {
    const [named, near] = [0.75, 0.55].map((distance, at) =>
      candidate('a', distance, 40 * [best, less][at]!, askedBeside(best)),
    )
    return named!.combined - near!.combined
  }
  expect(lead(0.8, 0.6)).toBeGreaterThan(0)
  expect(lead(0.3, 0.22)).toBeLessThan(0)
})

test('a weight of 0 or 1 ranks by one part alone, whatever the words explain', () => {
  fc.assert(
    fc.property(question, part, part, (asked, ofIdeal, distance) => {
      const by = (weight: number) => candidate('a', distance, ofIdeal * asked.ideal, { ...asked, weight })
      expect(by(1).combined).toBeCloseTo(1 - distance, 9)
      expect(by(0).combined).toBeCloseTo(by(0).keyword, 9)
    }),
  )
})

test('a question of words that nothing holds has scores too', () => {
  const asked: Question = { vector: null, side: 'both', terms: [], ideal: 0, best: 0, weight: 0 }
  expect(candidate('a', null, 0, asked).keyword).toBe(0)
})
