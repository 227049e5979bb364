/** The SQLite store and people: files added, edited, touched, broken, taken away and brought back. */

import { expect, setDefaultTimeout, test } from 'bun:test'
import {
  chmodSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import type { DecisionRecord } from '../../../sdk/schema/decision.ts'
import { createAll, idOf, oddRecord, recordOf, suiteOptions } from '../../../sdk/storage/conformance/store/records.ts'
import { readDecision, readDecisions } from '../../../sdk/storage/decisions.ts'
import { countBy, countDecisions, outcomeGroups } from '../../../sdk/storage/groups.ts'
import { countKeyed, outboxCollection } from '../../../sdk/storage/keyed.ts'
import type { Store } from '../../../sdk/storage/store.ts'
import { yamlOf } from '../../../src/core/yaml.ts'
import { openExisting } from '../../../src/drivers/shared/sqlite/connect.ts'
import { openSqliteStore } from '../../../src/drivers/store/sqlite/driver.ts'
import { compareFiles } from '../../../src/drivers/store/sqlite/inspect.ts'
import { recordFile } from '../../../src/drivers/store/sqlite/parse.ts'
import { holdingTerm } from '../../support/search.ts'
import { behind, differences, filesIn, freshDir, type Logged, openAt, pathOf } from './sqlite-tools.ts'

setDefaultTimeout(120_000)

const vector = Float32Array.of(1, 0)
const vectors = { structure: vector, function: vector, both: vector }

/** A closed store with three decisions, the first two with vectors. */
async function prepared(records = [1, 2, 3].map((number) => recordOf(number))): Promise<string> {
  const dir = freshDir()
  const store = await openAt(dir)
  await createAll(store, records)
  await store.transaction(async (tx) => {
    await tx.embeddings.putGeneration({ state: 'building', embedder: 'test:1', dimensions: 2 })
    for (const { id } of records.slice(0, 2)) await tx.embeddings.put(id, { embedder: 'test:1', vectors })
  })
  await store.close()
  return dir
}

function edit(dir: string, record: DecisionRecord): void {
  writeFileSync(pathOf(dir, record.id), yamlOf(record))
}

/** @param work also gets what the start found, as it was logged */
async function using<T>(dir: string, work: (store: Store, found: string[]) => Promise<T>): Promise<T> {
  const log: Logged[] = []
  const store = await openAt(dir, log)
  try {
    return await work(
      store,
      log.map(({ message }) => message),
    )
  } finally {
    await store.close()
  }
}

const found = async (store: Store) => (await store.reconcile()).map(({ kind, path }) => `${kind} ${path}`)
const relative = (number: number) => pathOf('', idOf(number)).replace('decisions/', '')

test('an edited file is read again: words, fields, edges and order for new vectors', async () => {
  const dir = await prepared()
  const link = {
    target_id: idOf(3),
    edge_type: 'refines',
    weight: 1,
    context: null,
    created_at: '',
    created_by: '',
    effective: true,
  } as const
  const edited = recordOf(1, {
    decision: 'rewritten by hand',
    category: 'manual',
    title: 'kept as written',
    links: [link],
  })
  edit(dir, edited)
  await using(dir, async (store, atStart) => {
    expect(atStart).toEqual([expect.stringContaining(`changed: ${relative(1)}`)])
    expect(await readDecision(store.decisions, idOf(1))).toEqual({ record: edited, revision: 2, indexed: false })
    expect(await countDecisions(store.decisions, { category: 'manual', indexed: false })).toBe(1)
    expect(await holdingTerm(store, 'rewritten')).toBe(1)
    expect((await store.edges.of([idOf(3)], { direction: 'incoming', limit: 9 })).length).toBe(1)
    expect((await store.keyed.list(outboxCollection, { limit: 9 })).map(({ key }) => key)).toEqual([idOf(1)])
    expect((await store.feed.since(0, 1, 9)).at(-1)).toEqual(expect.objectContaining({ id: idOf(1), vectors: null }))
    expect(differences(dir)).toEqual([])
  })
  await using(dir, async (_, atStart) => expect(atStart).toEqual([]))
})

test('a file that was only touched changes nothing', async () => {
  const dir = await prepared()
  utimesSync(pathOf(dir, idOf(1)), 1, 1)
  await using(dir, async (store, atStart) => {
    expect(atStart).toEqual([])
    expect(await readDecision(store.decisions, idOf(1))).toEqual({ record: recordOf(1), revision: 1, indexed: true })
  })
})

test('a file that was taken away hides its decision until it is back', async () => {
  const dir = await prepared(
    [1, 2, 3].map((number) => recordOf(number, { source_key: `key:${number}`, decision: `hidden${number}` })),
  )
  const [path, aside] = [pathOf(dir, idOf(2)), join(dir, 'aside')]
  renameSync(path, aside)
  for (let start = 0; start < 2; start++)
    await using(dir, async (store) => {
      expect(await found(store)).toEqual([`deleted ${relative(2)}`])
      expect(await readDecision(store.decisions, idOf(2))).toBe(null)
      expect(await store.decisions.find({ source_key: 'key:2' })).toEqual([])
      expect(await store.decisions.find({ prefix: idOf(2), limit: 2 })).toEqual([])
      expect(await countDecisions(store.decisions, {})).toBe(2)
      expect((await store.decisions.walk({}, null, 9)).length).toBe(2)
      const { texts, total } = await store.decisions.list({
        filter: {},
        sort: 'created_at',
        order: 'asc',
        offset: 0,
        limit: 9,
      })
      expect([texts.length, total]).toEqual([2, 2])
      expect((await countBy(store.decisions, {}, 'status')).reduce((sum, { count }) => sum + count, 0)).toBe(2)
      expect((await outcomeGroups(store.decisions, {})).reduce((sum, { count }) => sum + count, 0)).toBe(2)
      expect(await holdingTerm(store, 'hidden2')).toBe(0)
      const [gone] = (await store.feed.since(0, 1, 9)).filter(({ id }) => id === idOf(2))
      expect([gone!.fields, gone!.vectors]).toEqual([null, null])
      expect(await store.transaction((tx) => readDecision(tx.decisions, idOf(2)))).toBe(null)
    })
  const store = await openAt(dir)
  renameSync(aside, path)
  expect((await store.reconcile()).map(({ kind }) => kind)).toEqual(['added'])
  expect((await readDecision(store.decisions, idOf(2)))?.indexed).toBe(true)
  expect(await store.decisions.find({ source_key: 'key:2' })).toEqual([idOf(2)])
  expect(await holdingTerm(store, 'hidden2')).toBe(1)
  await store.close()
})

test('a broken file is named; its decision stays as it was, and a write keeps the broken text aside', async () => {
  const dir = await prepared()
  const broken = readFileSync(pathOf(dir, idOf(1)), 'utf8').replace(/^stakes: .*$/m, 'stakes: enormous')
  writeFileSync(pathOf(dir, idOf(1)), broken)
  writeFileSync(pathOf(dir, idOf(2)), 'a: [')
  const stranger = pathOf(dir, '2020-02-02-decision-000000000000')
  mkdirSync(dirname(stranger), { recursive: true })
  writeFileSync(stranger, yamlOf(recordOf(5)))
  cpSync(pathOf(dir, idOf(3)), join(dir, 'decisions', `${idOf(3)}.yaml`))
  for (let start = 0; start < 2; start++)
    await using(dir, async (store) => {
      const findings = await store.reconcile()
      expect(findings.map(({ kind }) => kind)).toEqual(['broken', 'broken', 'broken', 'broken'])
      const message = (path: string) => findings.find((finding) => finding.path === path)?.message
      expect(message(relative(1))).toMatch(/^line \d+: stakes: /)
      expect(message(relative(2))).toMatch(/^line 1: /)
      expect(message('2020/02/2020-02-02-decision-000000000000.yaml')).toContain(`the id is ${idOf(5)}`)
      expect(message(`${idOf(3)}.yaml`)).toContain(relative(3))
      expect(await readDecision(store.decisions, idOf(1))).toEqual({ record: recordOf(1), revision: 1, indexed: true })
      expect(await countDecisions(store.decisions, {})).toBe(3)
    })
  await using(dir, async (store) => {
    await store.transaction((tx) => tx.decisions.put(recordOf(1, { preserve: true }), 1))
    expect(readFileSync(`${pathOf(dir, idOf(1))}.broken`, 'utf8')).toBe(broken)
    expect(readFileSync(pathOf(dir, idOf(1)), 'utf8')).toBe(recordFile(recordOf(1, { preserve: true })))
    await store.transaction((tx) => tx.decisions.put(recordOf(1), 2))
    expect(readFileSync(`${pathOf(dir, idOf(1))}.broken`, 'utf8')).toBe(broken)
  })
})

test('an edit that was not read yet is kept beside the file that a call writes, and is named', async () => {
  const dir = await prepared()
  const log: Logged[] = []
  const store = await openAt(dir, log)
  const texts = ['first edit', 'second edit'].map((lessons) => yamlOf(recordOf(1, { lessons })))
  for (const [at, text] of texts.entries()) {
    writeFileSync(pathOf(dir, idOf(1)), text)
    await store.transaction((tx) => tx.decisions.put(recordOf(1, { preserve: at === 0 }), at + 1))
    expect(readFileSync(pathOf(dir, idOf(1)), 'utf8')).toBe(recordFile(recordOf(1, { preserve: at === 0 })))
  }
  const kept = [`${relative(1)}.edited`, `${relative(1)}.edited-2`]
  expect(kept.map((path) => readFileSync(join(dir, 'decisions', path), 'utf8'))).toEqual(texts)
  expect(log.filter(({ message }) => message.includes('changed by hand')).length).toBe(2)
  expect(await store.reconcile()).toEqual([])
  const db = openExisting(join(dir, 'cstp.db'))
  expect([...compareFiles(db, join(dir, 'decisions'))]).toEqual(
    kept.map((path) => ({ path, kind: 'kept', detail: 'edited' })),
  )
  db.close()
  // What the service wrote itself is no edit.
  for (const revision of [3, 4]) await store.transaction((tx) => tx.decisions.put(recordOf(1), revision))
  await store.transaction((tx) => tx.erase({ decisions: [{ id: idOf(1), revision: 5 }] }))
  expect(filesIn(dir).filter((path) => path.includes(idOf(1)))).toEqual([])
  await store.close()
})

test('a file that another process owes is no edit', async () => {
  const dir = await prepared()
  const store = await openAt(dir)
  // As between the two steps of another process: its row is committed, and the file has the older text.
  behind(dir, (db) => {
    const later = Date.now() + 1_000
    db.run('insert into pending_files select num, 2 from decisions where id = ?', [idOf(1)])
    db.run(`update decisions set revision = 2, file_mtime = ?, file_hash = 'of the other' where id = ?`, [
      later,
      idOf(1),
    ])
  })
  await store.transaction((tx) => tx.decisions.put(recordOf(1, { preserve: true }), 2))
  expect(differences(dir)).toEqual([])
  await store.close()
})

test('links are not followed, to files or to folders: they are reported, and the decisions stay as they were', async () => {
  const dir = await prepared()
  const outside = freshDir()
  const secret = join(outside, 'secret.yaml')
  writeFileSync(secret, 'password: hunter2\n')
  rmSync(pathOf(dir, idOf(1)))
  symlinkSync(secret, pathOf(dir, idOf(1)))
  mkdirSync(join(outside, '06'))
  writeFileSync(join(outside, '06', '2021-06-01-decision-000000000000.yaml'), 'password: hunter2\n')
  mkdirSync(join(dir, 'decisions/2021'))
  symlinkSync(join(outside, '06'), join(dir, 'decisions/2021/06'))
  const lines: string[] = []
  const log = (_: string, message: string, data?: object) => void lines.push(message, JSON.stringify(data ?? {}))
  const store = await openSqliteStore({ ...suiteOptions, dir, log })
  expect(await store.reconcile()).toEqual(
    ['2021/06', relative(1)]
      .sort()
      .map((path) => ({ path, kind: 'broken', message: 'it is a symbolic link, which is not followed' })),
  )
  expect(await readDecision(store.decisions, idOf(1))).toMatchObject({ record: recordOf(1) })
  expect(await countDecisions(store.decisions, {})).toBe(3)
  // A write puts a file in the place of the link, and nothing behind it.
  await store.transaction((tx) => tx.decisions.put(recordOf(1, { preserve: true }), 1))
  expect(readFileSync(secret, 'utf8')).toBe('password: hunter2\n')
  expect(lstatSync(pathOf(dir, idOf(1))).isFile()).toBe(true)
  await store.close()
  expect(lines.join('\n')).not.toContain('hunter2')
  const db = openExisting(join(dir, 'cstp.db'))
  expect([...compareFiles(db, join(dir, 'decisions'))].map(({ path, kind }) => [path, kind])).toEqual([
    ['2021/06', 'broken'],
  ])
  db.close()
})

test('nothing of a broken file reaches the log: it may be any file', async () => {
  const dir = await prepared()
  const texts = [
    'hunter2',
    'a: *hunter2',
    'a: !hunter2 b',
    'hunter2: [',
    `id: ${idOf(1)}\nhunter2: 1\nstakes: hunter2`,
    '"hunter2',
  ]
  for (const text of texts) {
    writeFileSync(pathOf(dir, idOf(1)), text)
    const lines: string[] = []
    const log = (_: string, message: string, data?: object) => void lines.push(message, JSON.stringify(data ?? {}))
    const store = await openSqliteStore({ ...suiteOptions, dir, log })
    await store.close()
    expect(lines.join('\n')).toContain(`decision file broken: ${relative(1)}`)
    expect(lines.join('\n')).not.toContain('hunter2')
  }
})

test('the catalogue is for its owner alone, and one that was not becomes so', async () => {
  const dir = freshDir()
  const modes = () => ['cstp.db', 'cstp.db-wal', 'cstp.db-shm'].map((name) => statSync(join(dir, name)).mode & 0o777)
  await using(dir, async () => expect(modes()).toEqual([0o600, 0o600, 0o600]))
  chmodSync(join(dir, 'cstp.db'), 0o644)
  await using(dir, async () => expect(modes()).toEqual([0o600, 0o600, 0o600]))
})

test('a file that is about to be put in place is not missed', async () => {
  const dir = await prepared()
  const store = await openAt(dir)
  behind(dir, (db) => db.run('insert into pending_files select num, revision from decisions where id = ?', [idOf(1)]))
  rmSync(pathOf(dir, idOf(1)))
  rmSync(pathOf(dir, idOf(2)))
  expect((await store.reconcile()).map(({ path }) => path)).toEqual([relative(2)])
  expect((await readDecision(store.decisions, idOf(1)))?.indexed).toBe(true)
  await store.close()
})

test('a file that is edited while it is still owed by a process that died is taken in, not written again', async () => {
  const dir = await prepared()
  behind(dir, (db) => db.run('insert into pending_files (num, revision) select num, revision from decisions'))
  edit(dir, recordOf(1, { decision: 'edited by hand' }))
  const log: Logged[] = []
  const store = await openAt(dir, log)
  expect((await readDecision(store.decisions, idOf(1)))?.record.decision).toBe('edited by hand')
  expect(log.map(({ message }) => message)).toContainEqual(expect.stringContaining(`changed: ${relative(1)}`))
  expect(differences(dir)).toEqual([])
  await store.close()
})

test('a file that is edited as soon as its decision is written is not missed', async () => {
  const dir = await prepared()
  const store = await openAt(dir)
  await store.transaction((tx) => tx.decisions.put(recordOf(1, { category: 'written' }), 1))
  edit(dir, recordOf(1, { category: 'edited' }))
  expect((await store.reconcile()).map(({ path, kind }) => ({ path, kind }))).toEqual([
    { path: relative(1), kind: 'changed' },
  ])
  await store.close()
})

test('a repaired file is imported', async () => {
  const dir = await prepared()
  writeFileSync(pathOf(dir, idOf(1)), 'a: [')
  const store = await openAt(dir)
  expect((await store.reconcile()).length).toBe(1)
  edit(dir, recordOf(1, { category: 'repaired' }))
  expect((await store.reconcile()).map(({ kind }) => kind)).toEqual(['changed'])
  await store.transaction((tx) => tx.decisions.put(recordOf(1), 2))
  expect(existsSync(`${pathOf(dir, idOf(1))}.broken`)).toBe(false)
  await store.close()
})

test('a lost database is rebuilt from the files', async () => {
  const records = [
    oddRecord(1),
    recordOf(2, { source_key: 'two' }),
    ...Array.from({ length: 300 }, (_, at) => recordOf(at + 3)),
  ]
  const dir = await prepared(records)
  for (const suffix of ['', '-wal', '-shm']) rmSync(join(dir, `cstp.db${suffix}`), { force: true })
  await using(dir, async (store) => {
    expect(await countDecisions(store.decisions, {})).toBe(302)
    expect(await countKeyed(store.keyed, outboxCollection)).toBe(302)
    for (const record of records) expect((await readDecision(store.decisions, record.id))?.record).toEqual(record)
    expect(await store.decisions.find({ source_key: 'two' })).toEqual([idOf(2)])
    expect((await store.decisions.walk({}, null, 999)).map(({ id }) => id).sort()).toEqual(
      records.map(({ id }) => id).sort(),
    )
    expect(differences(dir)).toEqual([])
  })
  await using(dir, async (_, atStart) => expect(atStart).toEqual([]))
})

test('files copied in are taken in; of two with one source key the first counts', async () => {
  const dir = await prepared([recordOf(1, { source_key: 'same' })])
  for (const record of [recordOf(5), recordOf(6, { source_key: 'same' })]) edit(dir, record)
  await using(dir, async (store) => {
    expect(await found(store)).toEqual([`broken ${relative(6)}`])
    expect(await store.decisions.find({ source_key: 'same' })).toEqual([idOf(1)])
    expect((await readDecision(store.decisions, idOf(5)))?.record).toEqual(recordOf(5))
  })
})

test('two stores that open concurrently import each file once', async () => {
  const dir = freshDir()
  const other = await prepared(Array.from({ length: 300 }, (_, at) => recordOf(at)))
  cpSync(join(other, 'decisions'), join(dir, 'decisions'), { recursive: true })
  const stores = await Promise.all([openAt(dir), openAt(dir), openAt(dir)])
  for (const store of stores) expect(await countDecisions(store.decisions, {})).toBe(300)
  expect((await stores[0]!.feed.head()).seq).toBe(300)
  for (const store of stores) await store.close()
  expect(differences(dir)).toEqual([])
})

test('a start does not mistake the files of a store that is writing', async () => {
  const dir = freshDir()
  const store = await openAt(dir)
  let number = 0
  const writing = Promise.all(
    Array.from({ length: 4 }, async () => {
      while (number < 160) {
        const next = number++
        await createAll(store, [recordOf(next)])
        await store.transaction((tx) => tx.decisions.put(recordOf(next, { preserve: true }), 1))
      }
    }),
  )
  while (number < 160) {
    const log: Logged[] = []
    const second = await openAt(dir, log)
    expect(log).toEqual([])
    await second.close()
    await Bun.sleep(1)
  }
  await writing
  const all = (await store.decisions.walk({}, null, 999)).map(({ id }) => id)
  for (const one of await readDecisions(store.decisions, all)) expect(one.revision).toBe(2)
  await store.close()
  expect(differences(dir)).toEqual([])
})

test('the files of a large store are looked at beside its answers; one that is closed meanwhile stops, and loses nothing', async () => {
  const dir = await prepared()
  const open = () => openSqliteStore({ ...suiteOptions, dir, most_at_start: 2 })
  edit(dir, recordOf(1, { decision: 'edited meanwhile' }))
  renameSync(pathOf(dir, idOf(2)), join(dir, 'aside'))
  await (await open()).close()
  const store = await open()
  // This waits for a look that is under way, which has taken in the edit.
  expect(await found(store)).toEqual([`deleted ${relative(2)}`])
  expect(await countDecisions(store.decisions, {})).toBe(2)
  expect((await readDecision(store.decisions, idOf(1)))?.record.decision).toBe('edited meanwhile')
  await store.close()
})

test('who ends soon looks at the files of a large store on request alone', async () => {
  const dir = await prepared()
  const edited = recordOf(1, { decision: 'edited by hand' })
  edit(dir, edited)
  const store = await openSqliteStore({ ...suiteOptions, dir, most_at_start: 2, brief: true })
  await Bun.sleep(100)
  expect((await readDecision(store.decisions, idOf(1)))?.record).toEqual(recordOf(1))
  expect([await found(store), (await readDecision(store.decisions, idOf(1)))?.record]).toEqual([
    [`changed ${relative(1)}`],
    edited,
  ])
  await store.close()
})
