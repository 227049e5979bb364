/** Counts by tag, project and day of what passes a filter: some days at a time as at once, and by indexes. */
import { Database } from 'bun:sqlite'
import { expect, setDefaultTimeout, test } from 'bun:test'
import { random } from '../../../sdk/storage/conformance/search/corpus.ts'
import { changedRecord } from '../../../sdk/storage/conformance/store/counters.ts'
import { createAll } from '../../../sdk/storage/conformance/store/records.ts'
import { compareText, filterFields } from '../../../sdk/storage/fields.ts'
import { compileFilter } from '../../../sdk/storage/filter.ts'
import type { DecisionFilter } from '../../../sdk/storage/store.ts'
import { dayMs } from '../../../src/core/time.ts'
import { connectReader } from '../../../src/drivers/shared/sqlite/connect.ts'
import { statementsOf } from '../../../src/drivers/store/sqlite/connect.ts'
import { byDaySql, daySql } from '../../../src/drivers/store/sqlite/counting.ts'
import { type NameKey, nameCounts, namesSql } from '../../../src/drivers/store/sqlite/names.ts'
import { tallies } from '../../../src/drivers/store/sqlite/tallies.ts'
import * as fc from '../../support/property.ts'
import { behind, freshDir, openAt } from './sqlite-tools.ts'

setDefaultTimeout(120_000)

test('counts by tag and project are the same however few decisions one step reads', async () => {
  const dir = freshDir()
  const store = await openAt(dir)
  const next = random(7)
  const records = Array.from({ length: 60 }, (_, number) => changedRecord(number, next))
  await createAll(store, records)
  const statements = statementsOf(connectReader(`${dir}/cstp.db`))
  const counters = tallies(statements)
  const all = records.map((record) => filterFields(record, false))
  const times = fc.option(fc.constantFrom(...all.map(({ created_ms }) => created_ms)), { nil: undefined })
  const filters: fc.Arbitrary<DecisionFilter> = fc.record({
    agent: fc.constantFrom(undefined, all[0]!.agent),
    project: fc.constantFrom(undefined, ...all.flatMap(({ project }) => project ?? [])),
    tags: fc.constantFrom(undefined, ...all.flatMap(({ tags }) => (tags.length > 0 ? [[...tags]] : []))),
    created_from_ms: times,
    created_to_ms: times,
  })
  const most = fc.constantFrom(1, 2, 7, 1_000)
  fc.assert(
    fc.property(filters, fc.constantFrom<NameKey>('tag', 'project'), most, (filter, by, step) => {
      const passing = all.filter(compileFilter(filter))
      const expected = new Map<string, number>()
      for (const { tags, project } of passing)
        for (const name of by === 'tag' ? new Set(tags) : [project])
          if (name !== null) expected.set(name, (expected.get(name) ?? 0) + 1)
      const { steps, answer } = nameCounts(statements, counters, step)(filter, by, passing.length)
      for (const run of steps) run()
      expect(answer()).toEqual(
        [...expected]
          .map(([value, count]) => ({ value, count }))
          .sort((a, b) => b.count - a.count || compareText(a.value, b.value)),
      )
    }),
    { numRuns: 300 },
  )
  await store.close()
})

test('a time is of the day that it falls on, before 1970 too', () => {
  const db = new Database(':memory:')
  const day = db.query<{ day: number }, { $ms: number }>(`select ${daySql('$ms')} as day`)
  const ms = fc.oneof(
    fc.integer({ min: -1e14, max: 1e14 }),
    fc
      .integer({ min: -40_000, max: 40_000 })
      .chain((days) => fc.integer({ min: -1, max: 1 }).map((by) => days * dayMs + by)),
  )
  fc.assert(fc.property(ms, ($ms) => expect(day.get({ $ms })).toEqual({ day: Math.floor($ms / dayMs) })))
  db.close()
})

test('what passes is found by an index, and its days are counted in it', async () => {
  const dir = freshDir()
  await (await openAt(dir)).close()
  const where = "d.gone = 0 and d.created_ms >= 0 and d.project = 'api'"
  const plan = (sql: string) =>
    behind(dir, (db) => db.query<{ detail: string }, []>(`explain query plan ${sql}`).all()).map(({ detail }) => detail)
  for (const index of [null, 'decisions_project'])
    expect(plan(namesSql('tag', where, index))).toEqual([
      'SEARCH d USING INDEX decisions_project (project=? AND created_ms>?)',
    ])
  expect(plan(byDaySql(where))[0]).toBe('SEARCH d USING COVERING INDEX decisions_project (project=? AND created_ms>?)')
})
