/** Search suite: BM25 as the port defines it, compared with a plain computation. */
import { compileFilter } from '../../filter.ts'
import type { KeywordQuery, KeywordResult, SearchIndex } from '../../search.ts'
import { equal } from '../check.ts'
import { type Entry, entry, filterOf, idOf, random, termsOf, withoutVectors, wordsOf } from './corpus.ts'
import { dimensions, type SearchKit } from './kit.ts'

const made = (number: number, next: () => number, text?: string): Entry => {
  const one = entry(number, next, dimensions)
  const terms = text === undefined ? one.value.terms : termsOf(text.split(' '))
  return { ...one, value: { ...one.value, terms } }
}

export function testKeyword({ onEmpty }: SearchKit): void {
  onEmpty('an empty corpus and no terms find nothing', async (index) => {
    const nothing = { hits: [], total: 0, total_unindexed: 0 }
    const empty = await index.keyword({ terms: ['cache'], filter: {}, limit: 5 })
    equal(rounded(empty), rounded({ ...nothing, ideal: Math.log(2) * 2.2 }), 'an empty corpus')
    await index.apply([made(1, random(1))], 1)
    equal(await index.keyword({ terms: [], filter: {}, limit: 5 }), { ...nothing, ideal: 0 }, 'no terms')
    const unknown = await index.keyword({ terms: ['nowhere'], filter: {}, limit: 5 })
    equal(rounded(unknown), rounded({ ...nothing, ideal: Math.log(1 + 1.5 / 0.5) * 2.2 }), 'an unknown term')
  })

  onEmpty('a term in all decisions, and a corpus of one, still rank', async (index) => {
    await index.apply([made(1, random(1), 'decision about caches')], 1)
    const { hits } = await index.keyword({ terms: ['decision'], filter: {}, limit: 5 })
    equal(
      hits.map(({ id, score }) => [id, score > 0]),
      [[idOf(1), true]],
      'hits',
    )
  })

  onEmpty('scores, order, totals and filters are those of the formula, through changes too', async (index) => {
    const next = random(3)
    const corpus = new Map<string, Entry>()
    let applied = 0
    const apply = async (entries: readonly Entry[], gone: readonly string[] = []) => {
      await index.apply([...entries, ...gone.map((id) => ({ id, value: null }))], ++applied)
      for (const one of entries) corpus.set(one.id, one)
      for (const id of gone) corpus.delete(id)
    }
    await apply(
      Array.from({ length: 80 }, (_, number) => {
        const one = made(number, next)
        return number % 9 === 0 ? withoutVectors(one) : one
      }),
    )
    for (let round = 0; round < 12; round++) {
      for (let query = 0; query < 6; query++) {
        const terms = [...new Set(wordsOf(next))].slice(0, 1 + Math.floor(next() * 6))
        if (next() < 0.3) terms.push('unheard')
        const filter = query % 2 === 0 ? {} : filterOf(['stakes', 'status'], next)
        const asked = { terms, filter, limit: 1 + Math.floor(next() * 30) }
        const expected = naive(corpus, asked)
        const what = JSON.stringify(asked)
        equal(rounded(await index.keyword(asked)), rounded(expected), what)
        const uncounted = await index.keyword({ ...asked, counted: false })
        equal(rounded(uncounted), rounded({ ...expected, total: 0 }), `${what}, not counted`)
        const all = naive(corpus, { terms, filter: {}, limit: Number.MAX_SAFE_INTEGER }).hits
        const scores = new Map(all.map(({ id, score }) => [id, score]))
        const found = await index.scores({ terms, ids: [...corpus.keys(), idOf(999)] })
        equal(
          [...found].map(([id, score]) => [id, digits(score)]),
          [...corpus.keys()].map((id) => [id, digits(scores.get(id) ?? 0)]),
          `scores, ${what}`,
        )
      }
      // Half of the changes keep the terms; a few leave behind terms that no other decision contains.
      const changing = round % 2 === 0 ? 0.3 : 0.02
      const changed = [...corpus.values()].filter(() => next() < changing)
      const gone = [...corpus.keys()].filter(() => next() < 0.01)
      await apply(
        changed.map((one) => {
          const other = entry(1, next, dimensions).value
          const terms = next() < 0.5 ? other.terms : one.value.terms
          return {
            id: one.id,
            value: { ...one.value, terms, fields: { ...other.fields, id: one.id, indexed: one.value.fields.indexed } },
          }
        }),
        gone,
      )
    }
  })

  onEmpty('near spellings are found, nearest first, and a known term is its own', async (index) => {
    const texts = ['cache reads', 'cache writes', 'caches of catches', 'batch writes', 'cach']
    await index.apply(
      texts.map((text, number) => made(number, random(1), text)),
      5,
    )
    const near = async (term: string, max_edits = 1, limit = 9) =>
      (await index.nearTerms({ term, max_edits, limit })).map((one) => [one.term, one.edits, one.decisions])
    equal(await near('cahce'), [['cache', 1, 2]], 'swapped letters')
    const known = [
      ['cache', 0, 2],
      ['cach', 1, 1],
      ['caches', 1, 1],
    ]
    equal(await near('cache'), known, 'a known term')
    equal(await near('cahces', 2, 1), [['caches', 1, 1]], 'two edits')
    equal(await near('xache'), [], 'another first letter')
    equal(await near(''), [], 'no term')
    await index.apply([made(4, random(1), 'none')], 6)
    equal(await near('cach', 0), [], 'a term that nothing holds any more')
  })

  onEmpty('frequencies beyond a byte count in full', async (index) => {
    const entries = [300, 254, 255, 256, 1].map((times, number) =>
      made(number, random(1), `${'echo '.repeat(times)}one two`),
    )
    await index.apply(entries, 5)
    const asked = { terms: ['echo', 'two'], filter: {}, limit: 9 }
    const corpus = new Map(entries.map((one) => [one.id, one]))
    equal(rounded(await index.keyword(asked)), rounded(naive(corpus, asked)), 'hits')
  })

  onEmpty('decisions that hold every term are named', async (index) => {
    const texts = ['red green', 'red blue', 'green blue', 'red green blue', 'other']
    const apply = (numbers: readonly number[], text?: string) =>
      index.apply(
        numbers.map((number) => made(number, random(1), text ?? texts[number]!)),
        1,
      )
    await apply([0, 1, 2, 3, 4])
    const holding = async (...terms: string[]) => (await index.idsContainingAll({ terms })).sort()
    equal(await holding('red'), [0, 1, 3].map(idOf), 'one')
    equal(await holding('red', 'green'), [0, 3].map(idOf), 'two')
    equal(await holding('red', 'unheard'), [], 'one of them in none')
    await apply([1], 'red green')
    equal(await holding('red', 'green'), [0, 1, 3].map(idOf), 'after a change')
    equal(await holding('red', 'blue'), [idOf(3)], 'what it no longer holds')
    equal(await holdingOf(index, 'other'), 1, 'a single one')
  })
}

const holdingOf = async (index: SearchIndex, term: string): Promise<number> =>
  (await index.idsContainingAll({ terms: [term] })).length

function naive(corpus: Map<string, Entry>, { terms, filter, limit }: KeywordQuery): KeywordResult {
  const texts = [...corpus.values()].map((one) => {
    const words = one.value.terms.split(' ')
    return { ...one, words, length: words.length }
  })
  const average = texts.reduce((sum, { length }) => sum + length, 0) / texts.length
  const passes = compileFilter(filter)
  const idf = (term: string) => {
    const n = texts.filter(({ words }) => words.includes(term)).length
    return Math.log(1 + (texts.length - n + 0.5) / (n + 0.5))
  }
  const found = texts
    .map(({ id, value, words, length }) => {
      const score = terms.reduce((sum, term) => {
        const f = words.filter((word) => word === term).length
        return sum + (idf(term) * f * 2.2) / (f + 1.2 * (0.25 + (0.75 * length) / average))
      }, 0)
      return { id, score, fields: value.fields }
    })
    .filter(({ score, fields }) => score > 0 && passes(fields))
    .sort((a, b) => digits(b.score) - digits(a.score) || (a.id < b.id ? -1 : 1))
  return {
    hits: found.slice(0, limit).map(({ id, score }) => ({ id, score })),
    total: found.length,
    total_unindexed: found.filter(({ fields }) => !fields.indexed).length,
    ideal: terms.reduce((sum, term) => sum + idf(term) * 2.2, 0),
  }
}

/** Rounded: two correct sums differ in their last bits. */
const digits = (score: number) => Math.round(score * 1e9) / 1e9
const rounded = ({ hits, total, total_unindexed, ideal }: KeywordResult) => ({
  hits: hits.map(({ id, score }) => ({ id, score: digits(score) })),
  total,
  total_unindexed,
  ideal: digits(ideal),
})
