/** Words find the same decisions, in the same order and with the same scores, on PostgreSQL as on the embedded store. */
import { expect, setDefaultTimeout, test } from 'bun:test'
import { createAll, recordOf } from '../../../sdk/storage/conformance/store/records.ts'
import type { DecisionFilter } from '../../../sdk/storage/store.ts'
import { analyse, queryTerms } from '../../../src/domain/search/terms.ts'
import { openPostgresStore } from '../../../src/drivers/store/postgres/driver.ts'
import { openSqliteStore } from '../../../src/drivers/store/sqlite/driver.ts'
import { freshSchema, postgres, whyNoPostgres } from '../../support/postgres.ts'
import { inTemporaryDir } from '../../support/process.ts'
import { sharedText } from '../../support/shared.ts'

setDefaultTimeout(120_000)

interface Pep {
  source: string
  decision: string
  category: string
  context: string
  date: string
  tags: string[]
}

const text = sharedText('data/peps.jsonl')
const server = postgres()
const queries = [
  'type hints for function annotations',
  'asynchronous generators and coroutines',
  'packaging metadata version specifiers',
  'how are new modules added to the standard library?',
  'unicode',
  'python',
  'pattern matching match statement, structural',
  'governance of the steering council',
  'nothing-holds-this-word',
]
const filters: DecisionFilter[] = [{}, { category: 'process' }, { created_from_ms: Date.parse('2015-01-01') }]

if (server === null) test.skip(`keyword parity (${whyNoPostgres})`, () => {})
else
  test.skipIf(text === null)('679 decisions rank and score alike on both stores', () =>
    inTemporaryDir(async (dir) => {
      const records = text!
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as Pep)
        .map(({ source, decision, category, context, date, tags }, index) => ({
          ...recordOf(index + 1, { source_key: source, decision, category, context, tags }),
          created_at: `${date.slice(0, 10)}T00:00:00.000Z`,
        }))
      const options = { analyse, now: Date.now }
      const embedded = await openSqliteStore({ ...options, dir })
      const url = freshSchema(server)
      const shared = await openPostgresStore({ ...options, url })
      // As it searches where there are many decisions: by the terms that decide.
      const choosy = await openPostgresStore({ ...options, url, many_postings: 0 })
      try {
        for (const store of [embedded, shared]) await createAll(store, records)
        let found = 0
        for (const query of queries)
          for (const filter of filters) {
            const terms = queryTerms(query)
            const [one, other] = await Promise.all(
              [embedded, shared].map(({ decisions }) => decisions.keyword({ terms, filter, limit: 50 })),
            )
            expect([other!.total, other!.total_unindexed]).toEqual([one!.total, one!.total_unindexed])
            expect(other!.ideal).toBeCloseTo(one!.ideal, 9)
            expect(other!.hits.map(({ id }) => id)).toEqual(one!.hits.map(({ id }) => id))
            for (const [rank, { score }] of other!.hits.entries()) expect(score).toBeCloseTo(one!.hits[rank]!.score, 9)
            const ids = records.slice(0, 40).map(({ id }) => id)
            const scores = await Promise.all(
              [embedded, shared].map((store) => store.decisions.keyword({ terms, filter: {}, limit: 0, also: ids })),
            )
            for (const id of ids) expect(scores[1]!.also.get(id)).toBeCloseTo(scores[0]!.also.get(id)!, 9)
            const misspelt = terms.map((term) => ({
              term: `${term.slice(0, 2)}x${term.slice(3)}`,
              max_edits: 2,
              limit: 5,
            }))
            for (const query of misspelt)
              expect(await shared!.decisions.nearTerms(query)).toEqual(await embedded!.decisions.nearTerms(query))
            for (const limit of [1, 5, 20]) {
              const { hits } = await choosy.decisions.keyword({ terms, filter, limit, counted: false })
              expect(hits.map(({ id }) => id)).toEqual(one!.hits.slice(0, limit).map(({ id }) => id))
              for (const [rank, { score }] of hits.entries()) expect(score).toBeCloseTo(one!.hits[rank]!.score, 9)
            }
            found += one!.hits.length
          }
        expect(found).toBeGreaterThan(300)
      } finally {
        await embedded.close()
        await shared.close()
        await choosy.close()
      }
    }),
  )
