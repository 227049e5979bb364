/** The words that a misspelt word is compared with: few, and none that is near is missing. */
import { expect, test } from 'bun:test'
import { editDistance } from '../../../sdk/nearest.ts'
import { wordsBySpelling } from '../../../src/drivers/search/resident/near-terms.ts'
import * as fc from '../../support/property.ts'

const word = fc.string({ unit: fc.constantFrom(...'abcxyzé7'), minLength: 1, maxLength: 9 })

test('every word of the same first letter within the edits is among them', () => {
  fc.assert(
    fc.property(fc.uniqueArray(word, { maxLength: 60 }), word, fc.integer({ min: 0, max: 2 }), (words, term, most) => {
      const spelled = wordsBySpelling()
      for (const one of words) spelled.add(one)
      const near = words.filter((one) => one[0] === term[0] && editDistance(term, one, most) <= most)
      expect([...spelled.like(term, most)]).toEqual(expect.arrayContaining(near))
    }),
    { numRuns: 2_000 },
  )
})

test('words of other letters are none of them', () => {
  const spelled = wordsBySpelling()
  for (const one of ['cache', 'caches', 'chaos', 'cubes', 'catch', 'pache']) spelled.add(one)
  expect([...spelled.like('cahce', 1)].sort()).toEqual(['cache', 'caches', 'catch'])
})
