/** The words that a misspelt word may mean. */
import { expect, test } from 'bun:test'
import { editDistance } from '../../../sdk/nearest.ts'
import { nearestTerms } from '../../../src/drivers/search/terms.ts'
import * as fc from '../../support/property.ts'

const word = fc.string({ unit: fc.constantFrom(...'abcxyzé7'), minLength: 1, maxLength: 9 })

test('exactly the words with the same first letter within the edits are found', () => {
  fc.assert(
    fc.property(
      fc.uniqueArray(word, { maxLength: 60 }),
      word,
      fc.integer({ min: 0, max: 2 }),
      (words, term, max_edits) => {
        const containing = (one: string) => Number(words.includes(one))
        const near = nearestTerms(
          words.map((one) => [one, 1] as const),
          containing,
          { term, max_edits, limit: 100 },
        )
        const expected = words.filter((one) => one[0] === term[0] && editDistance(term, one, max_edits) <= max_edits)
        expect(near.map((one) => one.term).sort()).toEqual(expected.sort())
      },
    ),
    { numRuns: 1_000 },
  )
})
