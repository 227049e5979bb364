/** What rules see of SQL: statements, verbs, tables, and whether every row changes; in the dialects of all databases. */
import { describe, expect, test } from 'bun:test'
import { sqlFacts } from '../../../../src/domain/policy/command/sql.ts'
import * as fc from '../../../support/property.ts'

const verbsOf = (text: string): string[] => sqlFacts(text).statements.map(({ verb }) => verb)
const changesAll = (text: string): boolean => sqlFacts(text).statements.some((one) => one.without_where)

test('statements have their verbs, objects and tables', () => {
  const text = `SELECT * FROM users u, "Orders" AS o JOIN shop.items i ON i.id = o.item;
    INSERT INTO log (a) VALUES ('delete from x; drop table y');
    DROP TABLE IF EXISTS public.users, sessions; TRUNCATE sessions; ALTER TABLE t DROP COLUMN c`
  expect(sqlFacts(text)).toEqual({
    statements: [
      { verb: 'select', object: '', tables: ['users', 'orders', 'shop.items'], without_where: false },
      { verb: 'insert', object: '', tables: ['log'], without_where: false },
      { verb: 'drop', object: 'table', tables: ['public.users', 'sessions'], without_where: false },
      { verb: 'truncate', object: 'table', tables: ['sessions'], without_where: false },
      { verb: 'alter', object: 'table', tables: ['t'], without_where: false },
      { verb: 'drop', object: 'column', tables: ['t'], without_where: false },
    ],
    opaque: false,
  })
})

test.each([
  'delete from users',
  'update users set a = 1',
  'update users set a = (select b from c where c.id = 1)',
  'delete from users where true',
  'delete from users where 1 = 1',
  "update users set a = 'where'",
  'update users set a = 1 -- where id = 1',
  'with old as (delete from users returning *) select * from old',
  'explain analyze delete from users',
  'do $$ begin delete from users; end $$',
  'select 1; delete/**/from users',
])('%s changes every row', (text) => {
  expect(changesAll(text)).toBe(true)
})

test.each([
  'delete from users where id = 1',
  'update users set a = 1 where id in (select id from b)',
  'insert into t (a) values (1) on conflict (a) do update set a = 2',
  'create table t (a int references b on delete cascade)',
  "select 'delete from users'",
  'select * from t for update',
  'grant delete on t to x',
])('%s does not change every row', (text) => {
  expect(changesAll(text)).toBe(false)
})

describe('what one database hides from another is seen', () => {
  test.each([
    String.raw`select 'it\'; drop table users; -- '`,
    'select 1 --2; drop table users'.replace('--2', '--2\n+ 1'),
    'select 5--3; drop table users',
    "select $$'$$; drop table users; --'",
    "select '$$'; drop table users; --$$'",
    '/* /* */ drop table users; /* */ */',
    '/*!50000 drop table users */',
    "# it's\ndrop table users -- '",
    'select 1 # 2; drop table users',
  ])('%s', (text) => {
    expect(verbsOf(text)).toContain('drop')
  })
})

test('a text that does not end is opaque', () => {
  expect(sqlFacts("select 'a").opaque).toBe(true)
  expect(sqlFacts('select /* a').opaque).toBe(true)
  expect(sqlFacts('x'.repeat(300_000)).opaque).toBe(true)
})

test('case, blanks, comments and quotes change nothing', () => {
  const parts = ['drop', 'table', 'users']
  const between = fc.constantFrom(' ', '\n', '\t ', ' /* x; */ ', ' -- y\n')
  const cased = fc.array(fc.boolean(), { minLength: 15, maxLength: 15 })
  fc.assert(
    fc.property(
      fc.array(between, { minLength: 4, maxLength: 4 }),
      cased,
      fc.constantFrom('', '"', '`'),
      (gaps, upper, quote) => {
        const words = parts.map((one, at) => (at === 2 ? `${quote}${one}${quote}` : one))
        const text = words.reduce((sum, one, at) => `${sum}${gaps[at]}${one}`, '') + gaps[3]
        const mixed = [...text].map((one, at) => (upper[at % 15] ? one.toUpperCase() : one)).join('')
        expect(sqlFacts(`select 1;${mixed}`).statements.at(-1)).toMatchObject({
          verb: 'drop',
          object: 'table',
          tables: ['users'],
        })
      },
    ),
  )
})

test('no text makes it fail', () => {
  fc.assert(
    fc.property(
      fc.string({ unit: fc.constantFrom(...'select from;\'"`$()[]/*-#!\\ 1x.,'.split('')), maxLength: 60 }),
      (text) => {
        expect(sqlFacts(text).statements.length).toBeGreaterThanOrEqual(0)
      },
    ),
    { numRuns: 500 },
  )
})
