/** Words that the corpus lacks are searched for in their nearest spelling. */
import { expect, test } from 'bun:test'
import { correctSpelling } from '../../../src/domain/search/spelling.ts'
import { analyse } from '../../../src/domain/search/terms.ts'
import { openMemoryStore } from '../../support/memory/store.ts'
import { recordOf } from '../../support/record.ts'
import { openIndexOf } from '../../support/search.ts'

async function corrected(question: string): Promise<[string, string[]]> {
  const store = openMemoryStore({ analyse, now: Date.now })
  const texts = [
    'Caching exchange rates for a minute',
    'Authenticate with PostgreSQL roles',
    'kubectl apply in production',
  ]
  await store.transaction(async (tx) => {
    for (const [at, decision] of texts.entries())
      await tx.decisions.create({
        ...recordOf({ decision }),
        id: `2026-01-01-decision-00000000000${at}`,
        source_key: null,
      })
  })
  const index = await openIndexOf(store)
  const { text, replaced } = await correctSpelling({ store, index }, question)
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

test('a question with many unknown words is about something else', async () => {
  const question = 'exchagne excange echange exchang productio'
  expect(await corrected(question)).toEqual([question, []])
})
