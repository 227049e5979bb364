/** The resident keyword index: replacing and sweeping change no score. */
import { expect, test } from 'bun:test'
import { type CountedTerms, type KeywordIndex, keywordIndex } from '../../../src/drivers/search/resident/keywords.ts'

let state = 1
const next = () => {
  state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff
  return state / 0x80000000
}

function text(): CountedTerms {
  const counts = new Map<number, number>()
  let length = 0
  for (let words = Math.floor(next() * 30); words > 0; words--) {
    const word = Math.floor(next() ** 3 * 400)
    const times = next() < 0.01 ? 300 : 1
    counts.set(word, (counts.get(word) ?? 0) + times)
    length += times
  }
  return { pairs: [...counts].flat(), length }
}

const answers = (index: KeywordIndex) =>
  [[1, 2, 3], [350], [0, 399, 7, undefined], [120, 121, 122, 123, 124, 125]].map((terms) => ({
    found: index.search({ terms, accept: (slot) => slot % 3 !== 0, tie: (a, b) => a - b, limit: 40 }),
    ideal: index.ideal(terms),
    one: index.score(terms, 41),
    all: index.slotsWithAll(terms.slice(0, 2)).sort((a, b) => a - b),
  }))

test('added one by one, or replaced over and over: the same answers', () => {
  const texts = Array.from({ length: 900 }, text)
  const added = keywordIndex()
  texts.forEach((terms, slot) => {
    added.set([{ slot, terms }])
  })
  // 5 000 replacements sweep the dead away several times.
  const replaced = keywordIndex()
  for (let slot = 0; slot < 900; slot++) replaced.set([{ slot, terms: text() }])
  for (let round = 0; round < 5_000; round++) {
    replaced.set([{ slot: Math.floor(next() * 900), terms: text() }])
    if (round % 500 === 0) answers(replaced)
  }
  for (let slot = 900; slot < 950; slot++) replaced.set([{ slot, terms: text() }])
  for (let slot = 900; slot < 950; slot++) replaced.remove(slot)
  texts.forEach((terms, slot) => {
    replaced.set([{ slot, terms }])
  })
  const expected = answers(added)
  expect(answers(replaced)).toEqual(expected)
  expect(expected[0]!.found.hits.length).toBe(40)
})
