/** The SQLite store and its files: commits, crashes, several processes, full and read-only disks. */

import { Database } from 'bun:sqlite'
import { expect, setDefaultTimeout, test } from 'bun:test'
import { spawnSync } from 'node:child_process'
import {
  closeSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { createAll, idOf, oddRecord, recordOf } from '../../../sdk/storage/conformance/store/records.ts'
import { readDecision, readDecisions } from '../../../sdk/storage/decisions.ts'
import { isStorageError } from '../../../sdk/storage/errors.ts'
import { countDecisions } from '../../../sdk/storage/groups.ts'
import { countKeyed, outboxCollection } from '../../../sdk/storage/keyed.ts'
import type { Store } from '../../../sdk/storage/store.ts'
import { leftSql, pendingSql, someSql } from '../../../src/drivers/store/sqlite/pending-files.ts'
import { holdingTerm } from '../../support/search.ts'
import {
  behind,
  differences,
  filesIn,
  freshDir,
  type Logged,
  lines,
  openAt,
  pathOf,
  startWriter,
} from './sqlite-tools.ts'

setDefaultTimeout(120_000)

const failure = (promise: Promise<unknown>) =>
  promise.then(
    () => null,
    (error: unknown) => error,
  )

test('an acknowledged decision has its file; a refused one has none', async () => {
  const dir = freshDir()
  const store = await openAt(dir)
  await createAll(store, [oddRecord(1)])
  expect(differences(dir)).toEqual([])
  const results = await Promise.allSettled(
    Array.from({ length: 30 }, (_, number) =>
      store.transaction(async (tx) => {
        await tx.decisions.put(recordOf(number + 2), 0)
        if (number % 4 === 0) throw new Error('refused')
      }),
    ),
  )
  const kept = results.filter(({ status }) => status === 'fulfilled').length
  expect(kept).toBe(22)
  expect(filesIn(dir).length).toBe(1 + kept)
  expect(differences(dir)).toEqual([])
  await store.close()
})

test('a file that can not be written refuses the whole transaction', async () => {
  const dir = freshDir()
  const store = await openAt(dir)
  // A file where the folder of the month should be.
  mkdirSync(join(dir, 'decisions', idOf(1).slice(0, 4)))
  const obstacle = join(dir, 'decisions', idOf(1).slice(0, 4), idOf(1).slice(5, 7))
  writeFileSync(obstacle, '')
  const error = await failure(createAll(store, [recordOf(1)]))
  expect(isStorageError(error, 'unavailable')).toBe(true)
  expect(await readDecision(store.decisions, idOf(1))).toBe(null)
  expect(await store.feed.head()).toEqual({ seq: 0, active: null, building: null })
  rmSync(obstacle)
  await createAll(store, [recordOf(1)])
  expect(differences(dir)).toEqual([])
  await store.close()
})

test('a file that can not take its place is owed, and written with the next commit', async () => {
  const dir = freshDir()
  const log: Logged[] = []
  const store = await openAt(dir, log)
  await createAll(store, [recordOf(1)])
  mkdirSync(join(pathOf(dir, idOf(2)), 'in the way'), { recursive: true })
  await createAll(store, [recordOf(2)])
  expect((await readDecision(store.decisions, idOf(2)))?.record).toEqual(recordOf(2))
  expect(log.map(({ level }) => level)).toEqual(['error'])
  rmSync(pathOf(dir, idOf(2)), { recursive: true })
  await createAll(store, [recordOf(3)])
  expect(differences(dir)).toEqual([])
  await store.close()
})

test('pending files of a dead process are written at the start', async () => {
  const dir = freshDir()
  const store = await openAt(dir)
  await createAll(store, [recordOf(1), recordOf(2)])
  await store.close()
  behind(dir, (db) => db.run('insert into pending_files select num, revision from decisions'))
  rmSync(pathOf(dir, idOf(1)))
  writeFileSync(pathOf(dir, idOf(2)), 'an older text')
  utimesSync(pathOf(dir, idOf(2)), 1, 1)
  const stale = `${pathOf(dir, idOf(1))}.1-abcdef.tmp`
  const foreign = `${pathOf(dir, idOf(1))}.swp`
  const probe = join(dir, 'decisions', '.probe.1.tmp')
  writeFileSync(stale, 'half')
  writeFileSync(probe, '')
  writeFileSync(foreign, 'an editor’s')
  const log: Logged[] = []
  const next = await openAt(dir, log)
  expect(log).toEqual([])
  expect([stale, probe, foreign].map(existsSync)).toEqual([false, false, true])
  rmSync(foreign)
  expect(differences(dir)).toEqual([])
  expect(behind(dir, (db) => db.query('select * from pending_files').all())).toEqual([])
  await next.close()
})

test('a power failure after the commit, before the files were in place, loses no decision and no file', async () => {
  const dir = freshDir()
  const store = await openAt(dir)
  const records = [recordOf(1), recordOf(2)]
  await createAll(store, records)
  // The commit that clears pending files is not synced: without it, one file is missing and one is empty.
  const after = freshDir()
  for (const name of ['cstp.db', 'cstp.db-wal']) copyFileSync(join(dir, name), join(after, name))
  behind(after, (db) => db.run('insert or ignore into pending_files select num, revision from decisions'))
  mkdirSync(dirname(pathOf(after, idOf(2))), { recursive: true })
  writeFileSync(pathOf(after, idOf(2)), '')
  await store.close()
  const log: Logged[] = []
  const next = await openAt(after, log)
  expect(log).toEqual([])
  for (const { id } of records) expect(readFileSync(pathOf(after, id))).toEqual(readFileSync(pathOf(dir, id)))
  expect(differences(after)).toEqual([])
  await next.close()
})

test('two processes write at once: nothing is lost, rows and files agree', async () => {
  const dir = freshDir()
  const store = await openAt(dir)
  await createAll(
    store,
    [0, 1, 2, 3].map((number) => recordOf(number)),
  )
  const writers = [startWriter(dir, [100, 60, 6, 4]), startWriter(dir, [200, 60, 6, 4])]
  const said = (await Promise.all(writers.map(({ stdout }) => new Response(stdout).text()))).join('').split('\n')
  expect(await Promise.all(writers.map(({ exited }) => exited))).toEqual([0, 0])
  expect(said.filter((line) => line.startsWith('created')).length).toBe(120)
  expect(said.filter((line) => line.startsWith('updated')).length).toBe(120)
  expect(await countDecisions(store.decisions, {})).toBe(124)
  const revisions = await readDecisions(store.decisions, [0, 1, 2, 3].map(idOf))
  expect(revisions.reduce((sum, { revision }) => sum + revision, 0)).toBe(124)
  for (const number of [100, 159, 200, 259]) expect(await holdingTerm(store, `writer${number}`)).toBe(1)
  expect(differences(dir)).toEqual([])
  await store.close()
})

test('servers that start together on a new folder all open it', async () => {
  const script = join(import.meta.dir, 'store-opener.ts')
  const openers = [1, 2, 3, 4].map((number) =>
    Bun.spawn([process.execPath, script, String(number)], { stdin: 'pipe', stdout: 'pipe', stderr: 'inherit' }),
  )
  const heard = openers.map(({ stdout }) => lines(stdout))
  const next = () => Promise.all(heard.map(async (one) => (await one.next()).value))
  expect(await next()).toEqual(Array(4).fill('up'))
  for (let round = 0; round < 30; round++) {
    const dir = join(freshDir(), 'new')
    const at = Date.now() + 20
    for (const { stdin } of openers) {
      stdin.write(`${JSON.stringify([at, dir])}\n`)
      stdin.flush()
    }
    expect(await next()).toEqual(Array(4).fill('opened'))
    const store = await openAt(dir)
    expect(await countDecisions(store.decisions, {})).toBe(4)
    expect(differences(dir)).toEqual([])
    await store.close()
  }
  for (const { stdin } of openers) stdin.end()
  expect(await Promise.all(openers.map(({ exited }) => exited))).toEqual([0, 0, 0, 0])
})

test('two stores that change the same decisions leave the newest text in the files', async () => {
  const dir = freshDir()
  const stores = [await openAt(dir), await openAt(dir)]
  await createAll(
    stores[0]!,
    [1, 2].map((number) => recordOf(number)),
  )
  const change = (store: Store, number: number) =>
    store.transaction(async (tx) => {
      const { record, revision } = (await readDecision(tx.decisions, idOf(number)))!
      await tx.decisions.put({ ...record, lessons: `revision ${revision + 1}` }, revision)
    })
  await Promise.all(
    stores.map(async (store) => {
      for (let round = 0; round < 60; round++) await Promise.all([change(store, 1), change(store, 2)])
    }),
  )
  expect((await readDecision(stores[1]!.decisions, idOf(1)))?.revision).toBe(121)
  expect(differences(dir)).toEqual([])
  for (const store of stores) await store.close()
})

test('killed over and over while it writes, the store keeps what it acknowledged, whole', async () => {
  const dir = freshDir()
  const store = await openAt(dir)
  await createAll(
    store,
    [0, 1, 2].map((number) => recordOf(number)),
  )
  await store.close()
  const created = new Set<number>()
  const updated = [1, 1, 1]
  for (let round = 0; round < 5; round++) {
    const writers = [0, 1].map((one) => startWriter(dir, [1_000 * (2 * round + one + 1), 1_000, 8, 3]))
    const writing = Promise.withResolvers<void>()
    const outputs = writers.map(async ({ stdout }) => {
      let text = ''
      for await (const part of stdout.pipeThrough(new TextDecoderStream())) {
        text += part
        writing.resolve()
      }
      return text
    })
    await writing.promise
    await Bun.sleep(137 * round)
    for (const writer of writers) writer.kill('SIGKILL')
    for (const line of (await Promise.all(outputs)).join('').split('\n')) {
      const [verb, number, revision] = line.split(' ')
      if (verb === 'created') created.add(Number(number))
      if (verb === 'updated' && revision !== undefined)
        updated[Number(number)] = Math.max(updated[Number(number)]!, Number(revision))
    }
    const log: Logged[] = []
    const next = await openAt(dir, log)
    expect(log).toEqual([])
    expect(differences(dir)).toEqual([])
    for (const number of created) {
      expect((await readDecision(next.decisions, idOf(number)))?.revision).toBe(1)
      expect(await next.decisions.find({ source_key: `key:${number}` })).toEqual([idOf(number)])
    }
    const shared = await readDecisions(next.decisions, [0, 1, 2].map(idOf))
    for (const [at, { revision }] of shared.entries()) expect(revision >= updated[at]!).toBe(true)
    // Half a transaction would show as a decision without its session, outbox entry or words.
    const all = await countDecisions(next.decisions, {})
    expect(await countKeyed(next.keyed, outboxCollection)).toBe(all - 3)
    expect((await next.keyed.list('session', { limit: 1e6 })).length).toBe(all - 3)
    expect(await holdingTerm(next, 'words')).toBe(all - 3)
    await next.close()
  }
  expect(created.size > 0).toBe(true)
})

test('the audit trail refuses changes from every connection', async () => {
  const dir = freshDir()
  const store = await openAt(dir)
  const entry = {
    at: '2026-01-01T00:00:00Z',
    agent: 'a',
    method: 'm',
    request_id: 'r',
    ids: [],
    allowed: null,
    rules: ['x'],
    detail: 1,
  }
  await store.transaction((tx) => tx.append({ audit: [entry] }))
  await store.close()
  const all = [
    'update audit set agent = 1',
    'delete from audit',
    'delete from audit_rules',
    'update audit_rules set rule = 1',
  ]
  for (const sql of all) expect(() => behind(dir, (db) => db.run(sql))).toThrow('append-only')
  // Lines that are over go; the others, and the line that says so, stay.
  const again = await openAt(dir)
  const expire = (before: string) =>
    again.transaction((tx) => tx.erase({ expired: { before_ms: Date.parse(before), keep: [], limit: 9 } }))
  await again.transaction((tx) => tx.append({ audit: [{ ...entry, at: '2025-01-01T00:00:00Z' }] }))
  expect(await expire('2026-01-01T00:00:00Z')).toBe(1)
  await again.close()
  for (const sql of [
    ...all,
    "delete from audit where method = 'audit.retention'",
    "delete from audit where agent = 'a'",
  ])
    expect(() => behind(dir, (db) => db.run(sql))).toThrow('append-only')
})

test('a database of a newer program is refused', async () => {
  const dir = freshDir()
  await (await openAt(dir)).close()
  behind(dir, (db) => db.run('PRAGMA user_version = 99'))
  const error = await failure(openAt(dir))
  expect(isStorageError(error, 'invalid')).toBe(true)
  expect(String(error)).toContain('version 99')
})

test('a damaged database is called corrupt', async () => {
  const dir = freshDir()
  writeFileSync(join(dir, 'cstp.db'), 'not a database '.repeat(1_000))
  const error = await failure(openAt(dir))
  expect(isStorageError(error, 'corrupt')).toBe(true)
  expect(String(error)).toContain(dir)
})

/** Mounts a small file system on `dir`; false where this machine does not let us. */
const mounted = (dir: string, ...args: string[]): boolean =>
  process.platform === 'linux' && spawnSync('mount', [...args, dir]).status === 0
const canMount = (() => {
  const dir = freshDir()
  const works = mounted(dir, '-t', 'tmpfs', 'tmpfs')
  if (works) spawnSync('umount', [dir])
  return works
})()
const mountTest = canMount ? test : test.skip
const why = canMount ? '' : ' (skipped: mounting needs root)'

/** The descriptor with which the driver syncs the log; SQLite opens its own without following links. */
const logOf = (dir: string): number => {
  const follows = (fd: string) =>
    (Number.parseInt(/flags:\s+(\d+)/.exec(readFileSync(`/proc/self/fdinfo/${fd}`, 'utf8'))![1]!, 8) & 0o400000) === 0
  const open = readdirSync('/proc/self/fd').filter((fd) => existsSync(`/proc/self/fd/${fd}`))
  return Number(open.find((fd) => readlinkSync(`/proc/self/fd/${fd}`) === join(dir, 'cstp.db-wal') && follows(fd)))
}

test.skipIf(process.platform !== 'linux')(
  'a commit whose log can not be synced is unknown, and none after it depends on that log',
  async () => {
    const dir = freshDir()
    const store = await openAt(dir)
    await createAll(store, [recordOf(1)])
    const log = logOf(dir)
    const instead = (path: string) => {
      closeSync(log)
      expect(openSync(path, 'r+')).toBe(log)
    }
    // It can't be synced.
    instead('/dev/null')
    const error = await failure(createAll(store, [recordOf(2)]))
    expect(isStorageError(error, 'unavailable') && error.outcomeUnknown).toBe(true)
    instead(join(dir, 'cstp.db-wal'))
    await createAll(store, [recordOf(3)])
    expect(await countDecisions(store.decisions, {})).toBe(3)
    expect(differences(dir)).toEqual([])
    // Without what the log has since.
    const other = freshDir()
    copyFileSync(join(dir, 'cstp.db'), join(other, 'cstp.db'))
    const copy = new Database(join(other, 'cstp.db'))
    expect(copy.query('select id from decisions order by id').values()).toEqual([[idOf(1)], [idOf(2)]])
    copy.close()
    await store.close()
  },
)

mountTest(`a full disk refuses writes and harms nothing; with room they work again${why}`, async () => {
  const dir = freshDir()
  mounted(dir, '-t', 'tmpfs', '-o', 'size=3m', 'tmpfs')
  try {
    const store = await openAt(dir)
    const kept: number[] = []
    const errors: unknown[] = []
    const big = (number: number) => recordOf(number, { lessons: 'x'.repeat(20_000) })
    for (let number = 0; number < 200 && errors.length < 5; number += 4) {
      const numbers = [number, number + 1, number + 2, number + 3]
      const results = await Promise.allSettled(numbers.map((one) => createAll(store, [big(one)])))
      results.forEach((result, at) => {
        if (result.status === 'fulfilled') kept.push(numbers[at]!)
        else errors.push(result.reason)
      })
    }
    expect(errors.length > 0).toBe(true)
    expect(errors.every((error) => isStorageError(error, 'unavailable'))).toBe(true)
    expect(await countDecisions(store.decisions, {})).toBe(kept.length)
    expect(differences(dir)).toEqual([])
    spawnSync('mount', ['-o', 'remount,size=30m', dir])
    await createAll(store, [big(900)])
    expect(await countDecisions(store.decisions, {})).toBe(kept.length + 1)
    await store.close()
    const log: Logged[] = []
    const next = await openAt(dir, log)
    expect(log).toEqual([])
    expect((await readDecisions(next.decisions, [...kept, 900].map(idOf))).length).toBe(kept.length + 1)
    await next.close()
  } finally {
    spawnSync('umount', ['-l', dir])
  }
})

mountTest(`a folder that can not be written to is named${why}`, async () => {
  const dir = freshDir()
  mounted(dir, '-t', 'tmpfs', 'tmpfs')
  try {
    await (await openAt(dir)).close()
    spawnSync('mount', ['-o', 'remount,ro', dir])
    const error = await failure(openAt(dir))
    expect(isStorageError(error, 'unavailable')).toBe(true)
    expect(String(error)).toContain(dir)
  } finally {
    spawnSync('umount', ['-l', dir])
  }
  const decisions = join(dir, 'decisions')
  mkdirSync(decisions, { recursive: true })
  mounted(decisions, '-t', 'tmpfs', '-o', 'ro', 'tmpfs')
  try {
    const error = await failure(openAt(dir))
    expect(isStorageError(error, 'unavailable')).toBe(true)
    expect(String(error)).toContain(dir)
  } finally {
    spawnSync('umount', ['-l', decisions])
  }
})

test('lines of a rare method are found without the others', async () => {
  const dir = freshDir()
  await (await openAt(dir)).close()
  const plan = behind(dir, (db) =>
    db.query(`explain query plan select * from audit where method = 'm' and seq < 9 order by seq desc limit 1`).all(),
  )
  expect(plan).toMatchObject([{ detail: 'SEARCH audit USING INDEX audit_method (method=? AND rowid<?)' }])
})

test('the search for pending files reads pending rows only, not all decisions', async () => {
  const dir = freshDir()
  await (await openAt(dir)).close()
  for (const sql of [someSql, pendingSql, leftSql]) {
    const explained = `explain query plan ${sql.replace('?', "'[]'")}`
    const plan = behind(dir, (db) => db.query<{ detail: string }, []>(explained).all())
    const ofDecisions = plan.map(({ detail }) => detail).filter((detail) => /^\w+ d /.test(detail))
    expect(ofDecisions).toEqual(['SEARCH d USING INTEGER PRIMARY KEY (rowid=?)'])
  }
})
