/** What deleted and moved rows leave in a database file is overwritten, while others write, and whenever the process is killed. */
import { Database } from 'bun:sqlite'
import { expect, setDefaultTimeout, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { remainsOf } from '../../../src/drivers/store/sqlite/pages.ts'
import { scrubber } from '../../../src/drivers/store/sqlite/scrub.ts'
import * as fc from '../../support/property.ts'
import { freshDir } from './sqlite-tools.ts'

setDefaultTimeout(120_000)

const alone = { alone: async <T>(work: () => T | Promise<T>) => work() }

const text = (number: number, length: number) =>
  `T${String(number).padStart(7, '0')} `.repeat(Math.ceil(length / 9)).slice(0, Math.max(9, length))

interface Change {
  table: 'rows' | 'keyed'
  kind: 'put' | 'delete'
  key: number
  length: number
}
const changes = fc.array(
  fc.record<Change>({
    table: fc.constantFrom('rows', 'keyed'),
    kind: fc.constantFrom('put', 'put', 'delete'),
    // One byte in the file, and no character of a text: a text that is cut in an index, its key and the up to three bytes behind it that are
    // too few for SQLite to count as free would read like another text.
    key: fc.integer({ min: 2, max: 31 }),
    length: fc.oneof(fc.nat(600), fc.nat(14_000)),
  }),
  { minLength: 50, maxLength: 400 },
)

function openTables(path: string, setting: { secure_delete: string; auto_vacuum: string; page_size: number }) {
  const db = new Database(path, { create: true, readwrite: true, strict: true })
  db.run(`PRAGMA page_size = ${setting.page_size}`)
  db.run(`PRAGMA auto_vacuum = ${setting.auto_vacuum}`)
  db.run('PRAGMA journal_mode = WAL')
  db.run(`PRAGMA secure_delete = ${setting.secure_delete}`)
  db.run('create table rows (num integer primary key, name text, doc text)')
  db.run('create index rows_name on rows (name)')
  db.run('create table keyed (name text, key integer, value text, primary key (key, name)) without rowid')
  return db
}

let written = 0
function apply(db: Database, { table, kind, key, length }: Change): void {
  if (kind === 'delete') db.query(`delete from ${table} where ${table === 'rows' ? 'num' : 'key'} = ?`).run(key)
  else if (table === 'rows')
    db.query('insert or replace into rows values (?, ?, ?)').run(
      key,
      text(++written, length % 300),
      text(++written, length),
    )
  else db.query('insert or replace into keyed values (?, ?, ?)').run(text(++written, length), key, text(++written, 9))
}

const applyAll = (db: Database, group: readonly Change[]) =>
  db.transaction(() => {
    for (const one of group) apply(db, one)
  })()

const contents = (db: Database) =>
  [
    'select * from rows order by num',
    'select * from keyed order by key, name',
    'select name from rows order by name',
  ].map((sql) => db.query(sql).values())

/** Texts in the file that no row has. */
function dead(path: string, db: Database): string[] {
  const live = new Set(JSON.stringify(contents(db)).match(/T\d{7}/g))
  return (readFileSync(path, 'latin1').match(/T\d{7}(?= )/g) ?? []).filter((one) => !live.has(one))
}

test('whatever was put and deleted, in a file of whichever settings: only what rows hold is left, and all of that', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(changes, { minLength: 1, maxLength: 4 }),
      fc.record({
        secure_delete: fc.constantFrom('ON', 'FAST', 'OFF'),
        auto_vacuum: fc.constantFrom('NONE', 'INCREMENTAL', 'FULL'),
        page_size: fc.constantFrom(512, 4_096, 65_536),
      }),
      async (groups, setting) => {
        const path = join(freshDir(), 'cstp.db')
        const db = openTables(path, setting)
        const reader = new Database(path, { readonly: true })
        for (const group of groups) applyAll(db, group)
        const before = contents(reader)
        const scrubbing = scrubber(db, alone)
        expect(await scrubbing.scrub()).toEqual([])
        expect(dead(path, db)).toEqual([])
        expect(contents(db)).toEqual(before)
        // What a connection kept in memory is not written back.
        for (const group of groups) applyAll(db, group.slice(0, 20))
        expect(db.query('PRAGMA integrity_check').values()).toEqual([['ok']])
        await scrubbing.stop()
        reader.close()
        db.close()
        scrubbing.close()
      },
    ),
    { numRuns: 12 },
  )
})

test('a chain of pages that was read while it changed, and leads to itself, ends', () => {
  const [leaf, chained] = [Buffer.alloc(512), Buffer.alloc(512)]
  const payload = 39 + 450 + 508 * 2 ** 31
  const length = Array.from(
    { length: 6 },
    (_, at) => (Math.floor(payload / 128 ** (5 - at)) % 128) | (at < 5 ? 0x80 : 0),
  )
  // One cell: its length, its key, 39 bytes of its own, and the page of the rest.
  const cell = Buffer.from([...length, 1, ...Array(39).fill(7), 0, 0, 0, 3])
  leaf.set([0x0d, 0, 0, 0, 1, 1, 144, 0, 1, 144])
  cell.copy(leaf, 400)
  chained.writeUInt32BE(3)
  let reads = 0
  const read = (number: number) => {
    if (++reads > 100) throw new Error('it goes round in a circle')
    return number === 3 ? chained : leaf
  }
  const pages = { size: 512, usable: 512, count: 3, mapped: 0, read }
  expect([...remainsOf(pages, new Map(), 2)]).toEqual([])
})
