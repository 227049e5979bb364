/** Store suite: BM25 as the port states it, against a plain computation. */
import type { DecisionRecord } from '../../../schema/decision.ts'
import { parseRecord } from '../../decisions.ts'
import { fieldsOf } from '../../fields.ts'
import { compileFilter } from '../../filter.ts'
import type { DecisionFilter, KeywordResult } from '../../store.ts'
import { filterOf, random } from '../vectors/corpus.ts'
import type { Kit } from './kit.ts'
import { analyseSimply, createAll, idOf, recordOf } from './records.ts'

export function testKeyword({ onEmpty, expect }: Kit): void {
  onEmpty('an empty corpus and no terms find nothing', async (store) => {
    const nothing = { hits: [], total: 0, total_unindexed: 0, also: new Map() }
    const empty = await store.decisions.keyword({ terms: ['cache'], filter: {}, limit: 5 })
    expect(rounded(empty)).toEqual(rounded({ ...nothing, ideal: Math.log(2) * 2.2 }))
    await createAll(store, [recordOf(1)])
    expect(await store.decisions.keyword({ terms: [], filter: {}, limit: 5 })).toEqual({ ...nothing, ideal: 0 })
    const unknown = await store.decisions.keyword({ terms: ['nowhere'], filter: {}, limit: 5 })
    expect(rounded(unknown)).toEqual(rounded({ ...nothing, ideal: Math.log(1 + 1.5 / 0.5) * 2.2 }))
  })

  onEmpty('a term in all decisions, and a corpus of one, still rank', async (store) => {
    await createAll(store, [recordOf(1)])
    const { hits } = await store.decisions.keyword({ terms: ['decision'], filter: {}, limit: 5 })
    expect(hits.map(({ id, score }) => [id, score > 0])).toEqual([[idOf(1), true]])
  })

  onEmpty('scores, order, totals and filters are those of the formula, through updates too', async (store) => {
    const next = random(3)
    const corpus = new Map<string, DecisionRecord>()
    const made = (number: number) =>
      recordOf(number, { decision: sentence(next), context: next() < 0.5 ? sentence(next) : null })
    const records = Array.from({ length: 80 }, (_, number) => made(number))
    await createAll(store, records)
    for (const record of records) corpus.set(record.id, record)

    for (let round = 0; round < 12; round++) {
      for (let query = 0; query < 6; query++) {
        const terms = [...new Set(sentence(next).split(' '))].slice(0, 1 + Math.floor(next() * 6))
        if (next() < 0.3) terms.push('unheard')
        const filter = query % 2 === 0 ? {} : filterOf(['stakes', 'status'], next)
        const limit = 1 + Math.floor(next() * 30)
        const expected = naive(corpus, terms, filter, limit)
        expect(rounded(await store.decisions.keyword({ terms, filter, limit }))).toEqual(rounded(expected))
        const also = [...corpus.keys()].slice(0, 20)
        const wider = await store.decisions.keyword({ terms, filter, limit, also, counted: false })
        expect(rounded({ ...wider, also: new Map() })).toEqual(rounded({ ...expected, total: 0 }))
        const { also: scores } = await store.decisions.keyword({
          terms,
          filter: {},
          limit: 0,
          also: [...corpus.keys(), '2001-01-01-decision-000000000000'],
        })
        const all = new Map(naive(corpus, terms, {}, Number.MAX_SAFE_INTEGER).hits.map(({ id, score }) => [id, score]))
        expect([...scores].map(([id, score]) => [id, digits(score)])).toEqual(
          [...corpus.keys()].map((id) => [id, digits(all.get(id) ?? 0)]),
        )
        expect([...wider.also].map(([id, score]) => [id, digits(score)])).toEqual(
          also.map((id) => [id, digits(all.get(id) ?? 0)]),
        )
      }
      // Half of the updates leave the words alone; few updates leave words behind that nobody else takes up.
      const changing = round % 2 === 0 ? 0.3 : 0.02
      const changes = [...corpus.values()].filter(() => next() < changing)
      await store.transaction(async (tx) => {
        for (const record of changes) {
          const changed = { ...record, ...(next() < 0.5 ? { decision: sentence(next) } : { confidence: next() }) }
          await tx.decisions.update(changed, (await tx.decisions.get(record.id))!.revision)
          corpus.set(record.id, changed)
        }
      })
    }
  })

  onEmpty('near spellings are found, nearest first, and a known term is its own', async (store) => {
    const texts = ['cache reads', 'cache writes', 'caches of catches', 'batch writes', 'cach']
    await createAll(
      store,
      texts.map((decision, number) => recordOf(number, { decision })),
    )
    const near = async (term: string, max_edits = 1, limit = 9) =>
      (await store.decisions.nearTerms({ term, max_edits, limit })).map((one) => [one.term, one.edits, one.decisions])
    expect(await near('cahce')).toEqual([['cache', 1, 2]])
    expect(await near('cache')).toEqual([
      ['cache', 0, 2],
      ['cach', 1, 1],
      ['caches', 1, 1],
    ])
    expect(await near('cahces', 2, 1)).toEqual([['caches', 1, 1]])
    expect(await near('xache')).toEqual([])
    expect(await near('')).toEqual([])
    await store.transaction(async (tx) => tx.decisions.update(recordOf(4, { decision: 'none' }), 1))
    expect(await near('cach', 0)).toEqual([])
  })

  onEmpty('frequencies beyond a byte count in full', async (store) => {
    const records = [300, 254, 255, 256, 1].map((times, number) =>
      recordOf(number, { decision: 'echo '.repeat(times), context: 'one two' }),
    )
    await createAll(store, records)
    const corpus = new Map(records.map((record) => [record.id, record]))
    const expected = naive(corpus, ['echo', 'two'], {}, 9)
    expect(rounded(await store.decisions.keyword({ terms: ['echo', 'two'], filter: {}, limit: 9 }))).toEqual(
      rounded(expected),
    )
  })

  onEmpty('decisions without vectors are counted', async (store) => {
    await createAll(
      store,
      [1, 2, 3, 4].map((number) => recordOf(number, { decision: 'same words' })),
    )
    const vector = Float32Array.of(1)
    await store.transaction(async (tx) => {
      await tx.embeddings.start('test:1', 1)
      await tx.embeddings.put(idOf(2), 'test:1', { structure: vector, function: vector, both: vector })
    })
    const found = (filter: DecisionFilter) => store.decisions.keyword({ terms: ['words'], filter, limit: 1 })
    expect([(await found({})).total, (await found({})).total_unindexed]).toEqual([4, 3])
    expect([(await found({ indexed: true })).total, (await found({ indexed: true })).total_unindexed]).toEqual([1, 0])
  })

  onEmpty('a list can be kept to decisions that hold every term', async (store) => {
    const texts = ['red green', 'red blue', 'green blue', 'red green blue', 'other']
    await createAll(
      store,
      texts.map((decision, number) => recordOf(number, { decision, context: null })),
    )
    const holding = async (terms: string[]) => {
      const page = await store.decisions.list({
        filter: {},
        terms,
        sort: 'created_at',
        order: 'asc',
        offset: 0,
        limit: 9,
      })
      expect(page.total).toBe(page.texts.length)
      return page.texts.map((text) => parseRecord(text).decision)
    }
    expect(await holding(['red'])).toEqual(['red green', 'red blue', 'red green blue'])
    expect(await holding(['red', 'green'])).toEqual(['red green', 'red green blue'])
    expect(await holding(['red', 'unheard'])).toEqual([])
    expect(await holding([])).toEqual(texts)
    await store.transaction((tx) => tx.decisions.update(recordOf(1, { decision: 'red green', context: null }), 1))
    expect(await holding(['red', 'green'])).toEqual(['red green', 'red green', 'red green blue'])
    expect(await holding(['red', 'blue'])).toEqual(['red green blue'])
  })
}

const vocabulary = 'cache queue lock retry batch index schema token shard lease page fence quorum ledger'.split(' ')
/** Early words are common, late ones rare. */
const sentence = (next: () => number) =>
  Array.from(
    { length: 1 + Math.floor(next() * 12) },
    () => vocabulary[Math.floor(next() ** 2 * vocabulary.length)],
  ).join(' ')

function naive(
  corpus: Map<string, DecisionRecord>,
  terms: readonly string[],
  filter: DecisionFilter,
  limit: number,
): KeywordResult {
  const texts = [...corpus.values()].map((record) => ({ record, ...analyseSimply(record) }))
  const average = texts.reduce((sum, { length }) => sum + length, 0) / texts.length
  const passes = compileFilter(filter)
  const idf = (term: string) => {
    const n = texts.filter(({ counts }) => counts.has(term)).length
    return Math.log(1 + (texts.length - n + 0.5) / (n + 0.5))
  }
  const hits = texts
    .map(({ record, counts, length }) => {
      const score = terms.reduce((sum, term) => {
        const f = counts.get(term) ?? 0
        return sum + (idf(term) * f * 2.2) / (f + 1.2 * (0.25 + (0.75 * length) / average))
      }, 0)
      return { record, id: record.id, score }
    })
    .filter(({ record, score }) => score > 0 && passes(fieldsOf(record, false)))
    .map(({ id, score }) => ({ id, score }))
    .sort((a, b) => digits(b.score) - digits(a.score) || (a.id < b.id ? -1 : 1))
  const ideal = terms.reduce((sum, term) => sum + idf(term) * 2.2, 0)
  return { hits: hits.slice(0, limit), total: hits.length, total_unindexed: hits.length, ideal, also: new Map() }
}

/** Rounded: two correct sums differ in their last bits. */
const digits = (score: number) => Math.round(score * 1e9) / 1e9
const rounded = (result: KeywordResult) => ({
  ...result,
  ideal: digits(result.ideal),
  hits: result.hits.map(({ id, score }) => ({ id, score: digits(score) })),
})
