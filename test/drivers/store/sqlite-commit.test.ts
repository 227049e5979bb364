/** Group commit of the embedded store: an answer means that the log was synced and files are in place, and what comes meanwhile is the next group. */
import { expect, test } from 'bun:test'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { committer } from '../../../src/drivers/store/sqlite/commit.ts'
import { connect, logSync, statementsOf } from '../../../src/drivers/store/sqlite/connect.ts'
import { relativePath } from '../../../src/drivers/store/sqlite/files.ts'
import type { Unwritten } from '../../../src/drivers/store/sqlite/pending-files.ts'

/** A committer whose syncs end when the test says so. */
async function open() {
  const dir = mkdtempSync(join(tmpdir(), 'cstp-commit-'))
  const { writer, reader } = await connect(dir)
  const statements = statementsOf(writer)
  const syncs: PromiseWithResolvers<void>[] = []
  const fileSyncs: PromiseWithResolvers<void>[] = []
  const rewrites: (readonly number[])[] = []
  const onRewrite = { run: async (_: readonly number[]): Promise<Unwritten[]> => [] }
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
    async writePending(nums) {
      rewrites.push(nums)
      return onRewrite.run(nums)
    },
    unwritten: [],
    syncPlaced: () => {
      fileSyncs.push(Promise.withResolvers())
      return fileSyncs.at(-1)!.promise
    },
  })
  const add = statements.prepare<unknown, [string]>(
    `insert into keyed_records (collection, key, version, value) values ('c', ?, 1, '0')`,
  )
  const owe = statements.prepare<unknown, [number]>('insert into pending_files (num, revision) values (?, 1)')
  const answered: string[] = []
  return {
    syncs,
    fileSyncs,
    rewrites,
    onRewrite,
    /** A decision with a file, as of its first revision. */
    async writeFile(num: number) {
      await commits.run(async ({ files }) => {
        owe.run(num)
        files.set(idOf(num), { num, revision: 1, text: `number: ${num}\n` })
      })
      answered.push(idOf(num))
    },
    path: (num: number) => join(dir, 'decisions', relativePath(idOf(num))),
    owed: () => reader.query<{ num: number }, []>('select num from pending_files order by num').values().flat(),
    answered,
    rows: () => reader.query<{ key: string }, []>('select key from keyed_records order by key').values().flat(),
    async write(id: string) {
      await commits.run(async () => void add.run(id))
      answered.push(id)
    },
    add: (id: string) => void add.run(id),
    commits,
    async [Symbol.asyncDispose]() {
      const closed = commits.close()
      await idle()
      for (const { resolve } of [...syncs, ...fileSyncs]) resolve()
      await closed
      statements.finalize()
      reader.close()
      writer.close()
      rmSync(dir, { recursive: true })
    },
  }
}

const idOf = (num: number) => `2026-03-${num}`

/** Lets everything happen that waits for nothing outside. */
const idle = () => new Promise((resolve) => setTimeout(resolve, 5))
const until = async (isDone: () => boolean): Promise<void> => {
  for (let at = 0; !isDone() && at < 5_000; at++) await Bun.sleep(1)
  expect(isDone()).toBe(true)
}

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

test('who writes a file is answered when it is in place; it is owed until it was synced', async () => {
  await using one = await open()
  const write = one.writeFile(11)
  await until(() => one.syncs.length === 1)
  expect([existsSync(one.path(11)), one.answered]).toEqual([false, []])
  one.syncs[0]!.resolve()
  await write
  expect(readFileSync(one.path(11), 'utf8')).toBe('number: 11\n')
  expect([one.fileSyncs.length, one.owed()]).toEqual([0, [11]])
  const settled = one.commits.settled()
  await until(() => one.fileSyncs.length === 1)
  expect([one.fileSyncs.length, one.owed()]).toEqual([1, [11]])
  one.fileSyncs[0]!.resolve()
  await settled
  expect(one.owed()).toEqual([])
})

test('files are synced and cleared although nobody asks; the next group makes its files when they are, and only those are then owed', async () => {
  await using one = await open()
  const writes = [one.writeFile(11)]
  await until(() => one.syncs.length === 1)
  one.syncs[0]!.resolve()
  await until(() => one.fileSyncs.length === 1)
  writes.push(one.writeFile(12))
  await idle()
  expect(one.syncs.length).toBe(1)
  one.fileSyncs[0]!.resolve()
  await until(() => one.syncs.length === 2)
  one.syncs[1]!.resolve()
  await Promise.all(writes)
  expect(one.owed()).toEqual([12])
})

test('a file whose sync fails stays owed, and is written again at the next commit', async () => {
  await using one = await open()
  const write = one.writeFile(11)
  await until(() => one.syncs.length === 1)
  one.syncs[0]!.resolve()
  await write
  const settled = one.commits.settled()
  await until(() => one.fileSyncs.length === 1)
  one.fileSyncs[0]!.reject(new Error('EIO'))
  await settled
  expect([one.owed(), one.rewrites]).toEqual([[11], []])
  const next = one.write('a')
  await until(() => one.syncs.length === 2)
  one.syncs[1]!.resolve()
  await next
  expect(one.rewrites).toEqual([[11]])
})

test('a file whose sync fails while another is written again stays owed too', async () => {
  await using one = await open()
  const answerNext = async (write: Promise<void>) => {
    const { length } = one.syncs
    await until(() => one.syncs.length > length)
    one.syncs.at(-1)!.resolve()
    await write
  }
  const failed = [{ num: 11, id: idOf(11), error: new Error('EACCES') }]
  one.onRewrite.run = async () => failed
  await answerNext(one.writeFile(11))
  await until(() => one.fileSyncs.length === 1)
  one.fileSyncs[0]!.reject(new Error('EIO'))
  await answerNext(one.writeFile(12))
  one.onRewrite.run = async () => {
    await until(() => one.fileSyncs.length === 2)
    one.fileSyncs[1]!.reject(new Error('EIO'))
    await idle()
    return []
  }
  await answerNext(one.write('a'))
  await answerNext(one.write('b'))
  expect(one.rewrites).toEqual([[11], [11], [12]])
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

test('those who wait are answered and others can write, though a temporary file can not be removed', async () => {
  await using one = await open()
  const write = one.writeFile(11)
  await until(() => one.syncs.length === 1)
  const [temp] = readdirSync(dirname(one.path(11)))
  rmSync(join(dirname(one.path(11)), temp!))
  mkdirSync(join(dirname(one.path(11)), temp!))
  one.syncs[0]!.reject(new Error('EIO'))
  expect(await write.catch((error: unknown) => error)).toMatchObject({ name: 'StorageError', unclear: true })
  const next = one.write('a')
  await until(() => one.syncs.length === 2)
  one.syncs[1]!.resolve()
  await next
})

test('a log that can not be opened refuses its commit as one that may have been done', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'cstp-commit-'))
  const { writer, reader } = await connect(dir)
  reader.close()
  writer.close()
  const log = logSync(writer)
  const asked = log.sync()
  expect(await asked.catch(({ code }: NodeJS.ErrnoException) => code)).toBe('ENOENT')
  rmSync(dir, { recursive: true })
})

test('after a log could not be synced nothing is, until the database has taken all of it', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'cstp-commit-'))
  const { writer, reader } = await connect(dir)
  const failures = ['EIO']
  const log = logSync(writer, async () => {
    const failure = failures.pop()
    if (failure !== undefined) throw new Error(failure)
  })
  const sync = () =>
    log.sync().then(
      () => 'synced',
      (error: Error) => error.name,
    )
  const size = () => statSync(join(dir, 'cstp.db-wal')).size
  const write = () => writer.run('insert into pending_files (num, revision) values (abs(random()), 1)')
  reader.run('begin')
  reader.query('select count(*) from decisions').get()
  write()
  expect([await sync(), size() > 0]).toEqual(['Error', true])
  write()
  expect([await sync(), size() > 0]).toEqual(['StorageError', true])
  reader.run('rollback')
  expect([await sync(), size()]).toEqual(['synced', 0])
  write()
  expect([await sync(), size() > 0]).toEqual(['synced', true])
  log.close()
  reader.close()
  writer.close()
  rmSync(dir, { recursive: true })
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
