/** The best rows by words: whatever is left unread, none of them is missing, as a score of every row shows. */
import { afterAll, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { random } from '../../../sdk/storage/conformance/search/corpus.ts'
import { type Bits, noBits, put } from '../../../src/drivers/search/lancedb/bits.ts'
import { collectPostings, openPostings } from '../../../src/drivers/search/lancedb/postings.ts'
import { lengthOf } from '../../../src/drivers/search/lancedb/rows.ts'
import { scorer, weighingOf } from '../../../src/drivers/search/lancedb/score.ts'
import * as fc from '../../support/property.ts'

const root = mkdtempSync(join(tmpdir(), 'cstp-ranking-'))
afterAll(() => rmSync(root, { recursive: true, force: true }))

/** Words of which each is half as frequent as the one before; now and then a text is very long, or says a word very often. */
const vocabulary = Array.from({ length: 12 }, (_, at) => `word${at}`)
function texts(count: number, seed: number): string[] {
  const next = random(seed)
  return Array.from({ length: count }, () => {
    const padding = Math.floor(next() * 30) + (next() < 0.01 ? 3_000 : 0)
    const held = vocabulary.flatMap((word, rank) =>
      next() < 2 ** -rank ? new Array(next() < 0.1 ? 1 + Math.floor(next() * 200) : 1).fill(word) : [],
    )
    return [...held, ...new Array(padding).fill('other')].join(' ')
  })
}

let folders = 0
async function opened(rows: readonly string[], gone: readonly number[] = [], held = Number.POSITIVE_INFINITY) {
  const folder = mkdtempSync(join(root, `${folders++}-`))
  const collected = await collectPostings(folder, held)
  for (const [row, terms] of rows.entries()) {
    collected.add(row, terms)
    await collected.relieve()
  }
  await collected.write()
  await collected.close()
  return openPostings(folder, Int32Array.from(rows, lengthOf), gone)
}

/** The score of each row that holds a term and is not gone. */
function scored(rows: readonly string[], terms: readonly string[], gone: readonly number[] = []) {
  const left = rows.flatMap((text, row) => (gone.includes(row) ? [] : [{ row, text }]))
  const holding = terms.map((term) => left.filter(({ text }) => ` ${text} `.includes(` ${term} `)).length)
  const length = left.reduce((sum, { text }) => sum + lengthOf(text), 0)
  const weighing = weighingOf(terms, { decisions: left.length, length, holding })
  const score = scorer(weighing)
  const scores = left
    .map(({ row, text }) => ({ row, score: score({ id: '', terms: text, length: lengthOf(text), indexed: true }) }))
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score)
  return { weighing, scores, holding }
}

test('lists that were put out of memory meanwhile are the same', async () => {
  const rows = texts(2_000, 3)
  const [whole, parts] = [await opened(rows), await opened(rows, [], 1_000)]
  for (const word of [...vocabulary, 'other', 'nobody']) {
    expect(parts.frequency(word)).toBe(whole.frequency(word))
    expect(parts.rowsWith([word])).toEqual(whole.rowsWith([word]))
  }
  const { weighing } = scored(rows, [...vocabulary])
  expect(parts.best(weighing, 50, null)).toEqual(whole.best(weighing, 50, null))
  whole.close()
  parts.close()
})

/** The rows whose number is a multiple of `every`. */
function multiples(rows: number, every: number): Bits {
  const bits = noBits(rows)
  for (let row = 0; row < rows; row += every) put(bits, row)
  return bits
}

test('no row that is among the best is left out, and equal ones are all there, also of those that pass a filter', async () => {
  const rows = texts(900, 1)
  const gone = [0, 500, 899]
  const [whole, rest] = [await opened(rows), await opened(rows, gone)]
  const questions = fc.record({
    terms: fc.uniqueArray(fc.constantFrom(...vocabulary, 'other', 'nobody'), { minLength: 1 }),
    limit: fc.integer({ min: 1, max: 200 }),
    isWhole: fc.boolean(),
    every: fc.option(fc.integer({ min: 1, max: 40 })),
  })
  fc.assert(
    fc.property(questions, ({ terms, limit, isWhole, every }) => {
      const without = isWhole ? [] : gone
      const postings = isWhole ? whole : rest
      const { weighing, scores, holding } = scored(rows, terms, without)
      expect(terms.map(postings.frequency)).toEqual(holding)
      const passingOnly = every === null ? null : multiples(rows.length, every)
      const passing = scores.filter(({ row }) => every === null || row % every === 0)
      const best = postings.best(weighing, limit, passingOnly)
      const found = new Set(best)
      const last = passing[Math.min(limit, passing.length) - 1]?.score ?? 0
      expect(passing.filter(({ row, score }) => score >= last && !found.has(row))).toEqual([])
      for (const row of without) expect(found.has(row)).toBe(false)
      if (every !== null) expect(best.every((row) => row % every === 0)).toBe(true)
    }),
    { numRuns: 60 },
  )
  whole.close()
  rest.close()
})

test('of very many equal rows some are told apart, and none that is better is lost', async () => {
  const rows = Array.from({ length: 20_000 }, (_, row) => (row % 2_000 === 5 ? 'common rare' : 'common'))
  const postings = await opened(rows)
  const { weighing, scores } = scored(rows, ['common', 'rare'])
  expect(postings.best(weighing, 10, null).sort((a, b) => a - b)).toEqual(
    scores
      .slice(0, 10)
      .map(({ row }) => row)
      .sort((a, b) => a - b),
  )
  // With one more wanted than hold the rare word, every row may be the last: of so many equal ones not all are told apart.
  const more = postings.best(weighing, 11, null)
  expect(more.length).toBeLessThan(2_000)
  expect(scores.slice(0, 10).every(({ row }) => more.includes(row))).toBe(true)
  postings.close()
})
