/** Group commit of the embedded store: an answer means that the log was synced, and what comes meanwhile is the next group. */
import { expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { committer } from '../../../src/drivers/store/sqlite/commit.ts'
import { connect, logSync, statementsOf } from '../../../src/drivers/store/sqlite/connect.ts'

/** A committer whose syncs end when the test says so. */
async function open() {
  const dir = mkdtempSync(join(tmpdir(), 'cstp-commit-'))
  const { writer, reader } = await connect(dir)
  const statements = statementsOf(writer)
  const syncs: PromiseWithResolvers<void>[] = []
  const commits = committer({
    db: writer,
    statements,
    root: join(dir, 'decisions'),
    log: () => {},
    sync: () => {
      syncs.push(Promise.withResolvers())
      return syncs.at(-1)!.promise
    },
    beforePlacing: () => {},
    writePending: async () => {},
  })
  const add = statements.prepare<unknown, [string]>(
    `insert into keyed_records (collection, key, version, value) values ('c', ?, 1, '0')`,
  )
  const answered: string[] = []
  return {
    syncs,
    answered,
    rows: () => reader.query<{ key: string }, []>('select key from keyed_records order by key').values().flat(),
    async write(id: string) {
      await commits.run(async () => void add.run(id))
      answered.push(id)
    },
    add: (id: string) => void add.run(id),
    commits,
    async [Symbol.asyncDispose]() {
      await commits.close()
      statements.finalize()
      reader.close()
      writer.close()
      rmSync(dir, { recursive: true })
    },
  }
}

/** Lets everything happen that waits for nothing outside. */
const idle = () => new Promise((resolve) => setTimeout(resolve, 5))

test('who writes is answered when the log is synced; those who come meanwhile share the next commit and its sync', async () => {
  await using one = await open()
  const writes = [one.write('a')]
  await idle()
  expect([one.syncs.length, one.answered, one.rows()]).toEqual([1, [], ['a']])
  for (const id of ['b', 'c']) {
    writes.push(one.write(id))
    await idle()
  }
  expect([one.syncs.length, one.rows()]).toEqual([1, ['a']])
  one.syncs[0]!.resolve()
  await idle()
  expect([one.syncs.length, one.answered, one.rows()]).toEqual([2, ['a'], ['a', 'b', 'c']])
  one.syncs[1]!.resolve()
  await Promise.all(writes)
  expect(one.answered).toEqual(['a', 'b', 'c'])
})

test('of more than a group holds, those of a full group wait for no sync', async () => {
  await using one = await open()
  const writes = Array.from({ length: 100 }, (_, at) => one.write(`${100 + at}`))
  await idle()
  expect([one.syncs.length, one.rows().length]).toEqual([2, 96])
  for (const at of [0, 1]) one.syncs[at]!.resolve()
  await idle()
  one.syncs[2]!.resolve()
  await Promise.all(writes)
  expect(one.rows().length).toBe(100)
})

/** Of three that come together, the second fails; how often each of them ran. */
async function failing(fail: (add: (id: string) => void) => void) {
  const runs = [0, 0, 0]
  await using one = await open()
  const jobs = ['a', 'b', 'c'].map((id, at) =>
    one.commits.run(async () => {
      runs[at]!++
      if (id === 'b') fail(one.add)
      one.add(id)
    }),
  )
  await idle()
  for (const { resolve } of one.syncs) resolve()
  const ends: string[] = (await Promise.allSettled(jobs)).map(({ status }) => status)
  return { runs, ends, rows: one.rows(), syncs: one.syncs.length }
}
const ends = ['fulfilled', 'rejected', 'fulfilled']
const refuse = () => {
  throw new Error('refused')
}

test('one that is refused before it has written is left out of its group, which runs once', async () => {
  expect(await failing(refuse)).toEqual({ runs: [1, 1, 1], ends, rows: ['a', 'c'], syncs: 1 })
})

test('of one that fails after it has written nothing is left, and the others of its group are committed', async () => {
  const found = await failing((add) => {
    add('half')
    refuse()
  })
  expect(found).toEqual({ runs: [2, 2, 1], ends, rows: ['a', 'c'], syncs: 1 })
})

test('a commit whose sync fails is refused as one that may have been done', async () => {
  await using one = await open()
  const write = one.write('a')
  await idle()
  one.syncs[0]!.reject(new Error('EIO'))
  const error = await write.catch((thrown: unknown) => thrown)
  expect(error).toMatchObject({ name: 'StorageError', kind: 'unavailable', unclear: true })
})

test('the log beside a database is synced, whoever opened it', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'cstp-commit-'))
  const { writer, reader } = await connect(dir)
  const log = logSync(writer)
  await Promise.all([log.sync(), log.sync()])
  log.close()
  reader.close()
  writer.close()
  rmSync(dir, { recursive: true })
})
