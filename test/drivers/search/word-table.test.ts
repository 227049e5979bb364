/** The numbers of words: as a map of texts would give them. */
import { expect, test } from 'bun:test'
import { wordNumbers } from '../../../src/drivers/search/resident/words.ts'
import * as fc from '../../support/property.ts'

const word = fc.string({ unit: fc.constantFrom(...'abcé漢7👩'), minLength: 1, maxLength: 5 })

test('texts are counted by the numbers that their words got first, whatever the words look like', () => {
  fc.assert(
    fc.property(fc.array(fc.array(word, { maxLength: 30 }), { maxLength: 20 }), (texts) => {
      const words = wordNumbers()
      const numbers = new Map<string, number>()
      for (const text of texts) {
        const counts = Map.groupBy(text, (one) => one)
        for (const one of counts.keys()) if (!numbers.has(one)) numbers.set(one, numbers.size)
        const pairs = [...counts].flatMap(([one, all]) => [numbers.get(one)!, all.length])
        expect(words.count([...counts.values()].flat().join(' '))).toEqual({ pairs, length: text.length })
      }
      for (const [one, number] of numbers) expect(words.find(one)).toBe(number)
      expect(words.findAll(['nowhere', ...numbers.keys()])).toEqual([undefined, ...numbers.values()])
    }),
  )
})

test('a hundred thousand words, many of one hash in a small table, are told apart', () => {
  const words = wordNumbers()
  const all = Array.from({ length: 100_000 }, (_, at) => `w${at.toString(36)}`)
  const { pairs, length } = words.count(all.join(' '))
  expect([pairs.length, length]).toEqual([200_000, 100_000])
  for (const at of [0, 1, 4_095, 4_096, 65_535, 99_999]) expect(words.find(all[at]!)).toBe(at)
  expect(words.count(`${all[70_000]} ${all[70_000]}`)).toEqual({ pairs: [70_000, 2], length: 2 })
})
