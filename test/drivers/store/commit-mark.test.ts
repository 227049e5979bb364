/** Reads of the embedded store are fresh without asking SQLite: the mark of commits moves with each of them, of any connection and process. */
import { Database } from 'bun:sqlite'
import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { createAll, idOf, recordOf } from '../../../sdk/storage/conformance/store/records.ts'
import { connectReader, connectWriter } from '../../../src/drivers/shared/sqlite/connect.ts'
import type { MapFile } from '../../../src/drivers/shared/sqlite/wal-index.ts'
import { commitMark } from '../../../src/drivers/store/sqlite/commit-mark.ts'
import { freshDir, openAt } from './sqlite-tools.ts'

/** Where the system maps files, and where it does not. */
const ways = [
  ['in memory', undefined],
  ['through the descriptor', () => null],
] as const

function opened(map?: MapFile) {
  const path = join(freshDir(), 'a.db')
  const writer = connectWriter(path, (db) => db.run('create table t (n integer)'))
  const reader = connectReader(path)
  const mark = commitMark(reader, map)
  /** Whether it moved, which is settled then. */
  const moved = () => {
    const was = mark.moved()
    mark.settle()
    return was
  }
  /** Called at the end: a connection that nobody holds is closed by the collector, and the mark is of one that stays open. */
  const close = () => [mark, writer, reader].forEach((one) => void one.close())
  return { path, writer, mark, moved, close }
}

test.each(ways)('it moves with each commit, and stays where nobody commits: %s', async (_, map) => {
  const { path, writer, mark, moved, close } = opened(map)
  expect([moved(), moved()]).toEqual([true, false])
  writer.run('insert into t values (1)')
  expect([mark.moved(), mark.moved(), moved(), moved()]).toEqual([true, true, true, false])
  writer.run('begin immediate')
  writer.run('insert into t values (2)')
  expect(moved()).toBe(false)
  writer.run('rollback')
  expect(moved()).toBe(false)
  // A transaction that is spilt to the log before it commits, and one that starts the log again.
  writer.run('PRAGMA cache_size = 10')
  writer.run(
    'insert into t select value from (with recursive r(value) as (select 1 union all select value + 1 from r where value < 50000) select value from r)',
  )
  expect([moved(), moved()]).toEqual([true, false])
  writer.run('PRAGMA wal_checkpoint(TRUNCATE)')
  moved()
  for (let at = 0; at < 20; at++) {
    writer.run('insert into t values (?)', [at])
    expect([moved(), moved()]).toEqual([true, false])
  }
  const other = new Database(path)
  other.run('insert into t values (3)')
  other.close()
  expect([moved(), moved()]).toEqual([true, false])
  const script = `new (require('bun:sqlite').Database)(${JSON.stringify(path)}).run('insert into t values (4)')`
  for (let at = 0; at < 2; at++) {
    await Bun.spawn([process.execPath, '-e', script]).exited
    expect([moved(), moved()]).toEqual([true, false])
  }
  close()
  // Neither memory that is gone is looked at nor a file that has its descriptor now.
  expect([moved(), moved()]).toEqual([true, true])
  mark.close()
})

test('a list is answered in the turn in which it was asked, and every read sees what another store wrote before', async () => {
  const dir = freshDir()
  const [one, other] = [await openAt(dir), await openAt(dir)]
  try {
    await createAll(one, [recordOf(1), recordOf(2)])
    expect(
      (await other.decisions.list({ filter: {}, sort: 'created_at', order: 'desc', offset: 0, limit: 9 })).total,
    ).toBe(2)
    let turned = false
    setImmediate(() => {
      turned = true
    })
    const [found] = await other.decisions.get([idOf(1), idOf(2)])
    await other.decisions.list({ filter: {}, sort: 'created_at', order: 'desc', offset: 0, limit: 9 })
    await other.feed.head()
    expect(turned).toBe(false)
    await one.transaction((tx) => tx.decisions.put({ ...recordOf(1), lessons: 'x' }, found!.revision))
    expect((await other.decisions.get([idOf(1)]))[0]!.json).toContain('"lessons":"x"')
  } finally {
    await one.close()
    await other.close()
  }
})
