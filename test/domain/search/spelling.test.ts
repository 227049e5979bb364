/** Words that the corpus lacks are searched for in their nearest spelling. */
import { expect, test } from 'bun:test'
import { openMemoryStore } from '../../../docs/examples/driver/store.ts'
import { correctSpelling } from '../../../src/domain/search/spelling.ts'
import { analyse } from '../../../src/domain/search/terms.ts'
import { recordOf } from '../../support/record.ts'
import { openIndexOf } from '../../support/search.ts'

const texts = [
  'Caching exchange rates for a minute',
  'Authenticate with PostgreSQL roles',
  'kubectl apply in production',
  'A page summarizes what was done',
  'Printing in green is cheap, and no accident',
]

async function corrected(question: string, known: readonly string[] = []): Promise<[string, string[]]> {
  const store = openMemoryStore({ analyse, now: Date.now })
  await store.transaction(async (tx) => {
    for (const [at, decision] of texts.entries())
      await tx.decisions.put(
        {
          ...recordOf({ decision }),
          id: `2026-01-01-decision-00000000000${at}`,
          source_key: null,
        },
        0,
      )
  })
  const index = await openIndexOf(store)
  const embedder = { knowsWord: async (word: string) => known.includes(word) }
  const { text, replaced } = await correctSpelling({ store, index, embedder }, question)
  await index.close()
  await store.close()
  return [text, replaced.map(({ word, by }) => `${word} → ${by}`)]
}

test.each([
  ['How do we cahce exchagne rates?', 'How do we caching exchange rates?', ['cahce → caching', 'exchagne → exchange']],
  ['excange rates', 'exchange rates', ['excange → exchange']],
  ['authentciate agaisnt postgresql', 'authenticate agaisnt postgresql', ['authentciate → authenticate']],
  // Two typos only in long words.
  ['psotgersql', 'postgresql', ['psotgersql → postgresql']],
  ['exchange rates in production', 'exchange rates in production', []],
  // Words of other subjects, short words and abbreviations are left alone.
  ['sourdough rises before baking', 'sourdough rises before baking', []],
  ['rtes for a mnte', 'rtes for a mnte', []],
  ['EXCHAGNE', 'EXCHAGNE', []],
  // Letters inside an identifier are no words.
  ['a12exchagne3 exchagne_id 7excange', 'a12exchagne3 exchagne_id 7excange', []],
  ['', '', []],
])('%j', async (question, text, replaced) => expect(await corrected(question)).toEqual([text, replaced]))

test.each([
  // Stems that are near, of words that are not.
  'plans for the summer',
  'according to plan',
])('%j: a stem that is near is not enough', async (question) =>
  expect(await corrected(question)).toEqual([question, []]),
)

test('a word that the embedder knows is never corrected', async () => {
  expect(await corrected('Greek prints')).toEqual(['green prints', ['Greek → green']])
  expect(await corrected('Greek prints', ['greek'])).toEqual(['Greek prints', []])
})

test('a question with many unknown words is about something else', async () => {
  const question = 'exchagne excange echange exchang productio'
  expect(await corrected(question)).toEqual([question, []])
})

test('only a word that the corpus lacks is compared with others', async () => {
  const compared: string[] = []
  const index = {
    keyword: () => Promise.reject(new Error('not asked')),
    async nearTerms({ term, max_edits }: { term: string; max_edits: number }) {
      if (max_edits > 0) compared.push(term)
      return term === 'unheard' ? [] : [{ term, edits: 0, decisions: 1 }]
    },
  }
  const store = openMemoryStore({ analyse, now: Date.now })
  const { replaced } = await correctSpelling({ store, index, embedder: {} }, 'exchange unheard products')
  expect([compared, replaced]).toEqual([['unheard'], []])
})
