/** The guide says what erasure does to each table, and to each collection that holds a text. */
import { expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { getTableName, is, Table } from 'drizzle-orm'
import { holders } from '../../../src/domain/erasure/target.ts'
import * as postgres from '../../../src/drivers/store/postgres/schema.ts'
import * as sqlite from '../../../src/drivers/store/sqlite/schema.ts'

const page = readFileSync(join(import.meta.dir, '../../../docs/guide/retention.md'), 'utf8')
const table = page.slice(page.indexOf('| place |'), page.indexOf('## Retention rules'))
const named = new Set([...table.matchAll(/`([a-z_]+)`/g)].map(([, name]) => name!))

/** Of the feed, and of limits: they know neither texts nor names of decisions. */
const without = ['changes', 'erased', 'feed', 'rate_limits', 'value_deltas']

test.each([
  ['SQLite', sqlite],
  ['PostgreSQL', postgres],
])('every table of %s', (_, schema) => {
  const names = Object.values(schema).flatMap((one) => (is(one, Table) ? getTableName(one) : []))
  expect(names.length).toBeGreaterThan(15)
  expect(names.filter((name) => !named.has(name) && !without.includes(name))).toEqual([])
})

test('every collection that may hold a text', () => {
  expect(holders.map(([collection]) => collection).filter((name) => !named.has(name))).toEqual([])
})
