/** A start on files that contradict each other is refused, with the file and the way on; what is whole starts, wherever it was moved. */
import { Database } from 'bun:sqlite'
import { expect, setDefaultTimeout, test } from 'bun:test'
import { generateKeyPairSync } from 'node:crypto'
import { cpSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { manifestName, measured } from '../../src/app/backup/files.ts'
import { checkBackup, restore } from '../../src/app/backup/restore.ts'
import { backup, copyTogether } from '../../src/app/backup/take.ts'
import type { Settings } from '../../src/app/config/config.ts'
import { examine } from '../../src/app/doctor/doctor.ts'
import { adoptKey } from '../../src/app/evidence.ts'
import { openProgram } from '../../src/app/server.ts'
import { markPath, readMark } from '../../src/app/thread-mark.ts'
import { event, log, settingsOf, withProgram } from '../support/opened.ts'
import { freshDatabase, postgres, whyNoPostgres } from '../support/postgres.ts'
import { testDir } from '../support/process.ts'

setDefaultTimeout(120_000)

const caller = { agent: 'alice', scopes: new Set(['read', 'write'] as const) }

/** Records a decision and, by default, an event; ends with all of it in the thread. */
const act = (settings: Settings, withEvent = true) =>
  withProgram(settings, async ({ dispatch, services: { chain } }) => {
    if (withEvent) await chain.append([event])
    const params = { decision: 'Use SQLite', confidence: 0.8, category: 'architecture' }
    const { signal } = new AbortController()
    await dispatch({ method: 'cstp.recordDecision', params, caller, request_id: 'r', signal })
  })
const starts = (settings: Settings): Promise<string> =>
  withProgram(settings, async () => 'it starts').catch((error: Error) => error.message)
const doctorSays = async (settings: Settings): Promise<string> => {
  const found: string[] = []
  for await (const { findings } of examine(settings, {})) found.push(...findings.map(({ what }) => what))
  return found.join('\n')
}

/** Refused, by the doctor too, in these words. */
async function refused(settings: Settings, ...words: string[]): Promise<void> {
  const message = await starts(settings)
  for (const word of [...words, 'cstp restore', 'cstp evidence new-key']) expect(message).toContain(word)
  expect(await doctorSays(settings)).toContain('no server starts')
  // Nothing that the refused start made is taken for the truth by the next one.
  expect(await starts(settings)).toContain(words[0]!)
}

/** A directory with two states of its files: `old` beside it is a copy of the first. */
async function twoStates(home: string): Promise<{ dir: string; old: string; settings: Settings }> {
  const [dir, old] = [join(home, 'data'), join(home, 'old')]
  const settings = await settingsOf(dir)
  await act(settings)
  cpSync(dir, old, { recursive: true })
  await act(settings)
  return { dir, old, settings }
}
const removeDatabase = (dir: string, name: string) => {
  for (const end of ['', '-wal', '-shm']) rmSync(join(dir, name + end), { force: true })
}
const putBack = (old: string, dir: string, name: string) => {
  removeDatabase(dir, name)
  cpSync(join(old, name), join(dir, name))
}

test('a store or an evidence log that is an older copy, or is gone, stops the start', async () => {
  const home = await testDir()
  const { dir, old, settings } = await twoStates(home)
  const whole = join(home, 'whole')
  cpSync(dir, whole, { recursive: true })
  expect(await starts(settings)).toBe('it starts')
  const cases: [string, () => void, string[]][] = [
    ['store gone', () => removeDatabase(dir, 'cstp.db'), [join(dir, 'cstp.db'), 'is missing']],
    [
      'store and evidence gone',
      () => ['cstp.db', 'provenance.db'].map((name) => removeDatabase(dir, name)),
      ['is missing'],
    ],
    ['older store', () => putBack(old, dir, 'cstp.db'), [join(dir, 'cstp.db'), 'is an older copy']],
    ['older evidence', () => putBack(old, dir, 'provenance.db'), [join(dir, 'provenance.db'), 'the ledger knows 2']],
    ['evidence gone', () => removeDatabase(dir, 'provenance.db'), [join(dir, 'provenance.db'), 'has 0 records']],
    [
      'older store and evidence',
      () => ['cstp.db', 'provenance.db'].map((name) => putBack(old, dir, name)),
      [join(dir, 'cstp.db'), 'is an older copy'],
    ],
  ]
  for (const [, change, words] of cases) {
    change()
    await refused(settings, ...words)
    rmSync(dir, { recursive: true })
    cpSync(whole, dir, { recursive: true })
  }
  expect(await starts(settings)).toBe('it starts')
})

test('a lost store goes on under a new identity, on record', async () => {
  const home = await testDir()
  const { dir, settings } = await twoStates(home)
  const before = (await readMark(dir))!
  removeDatabase(dir, 'cstp.db')
  rmSync(join(dir, 'keys/evidence.pem'))
  const { signer } = await adoptKey(settings, log)
  expect(await starts(settings)).toBe('it starts')
  expect((await readMark(dir))?.origin).toBe(`${signer.name}/thread`)
  expect(before.origin).not.toContain(signer.name)
  const lines = await withProgram(settings, ({ services }) =>
    services.store.audit.list({ method: 'evidence.new-key', limit: 9 }),
  )
  expect(lines.map(({ detail }) => detail)).toEqual([
    expect.objectContaining({ after: signer.name, thread_entries_lost: before.size }),
  ])
})

test('the key covers the thread of a service without evidence', async () => {
  const home = await testDir()
  const settings = await settingsOf(join(home, 'data'))
  await act(settings, false)
  const path = join(home, 'data/keys/evidence.pem')
  const pem = generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' })
  renameSync(path, join(home, 'own.pem'))
  writeFileSync(path, pem, { mode: 0o600 })
  expect(await starts(settings)).toMatch(/the ledger was signed by cstp\/.*\/thread, but the key of cstp\/.* is in use/)
  renameSync(join(home, 'own.pem'), path)
  await withProgram(settings, ({ services }) => services.thread.checkpoints.latest())
  rmSync(join(home, 'data/keys'), { recursive: true })
  expect(await starts(settings)).toContain(`but its key ${path} is missing`)
})

test('a backup names size and root of its thread, and one with another thread is refused', async () => {
  const home = await testDir()
  const { settings } = await twoStates(home)
  const signal = new AbortController().signal
  const target = join(home, 'backup')
  const made = await backup({ settings, target, signal, progress() {} })
  const { size, root_hash } = (await readMark(settings.data_dir))!
  expect(made.thread).toEqual({ size, root_hash, acts: size })
  // Somebody changes the copy, and its hash in the manifest.
  const catalogue = readFileSync(join(target, 'cstp.db'))
  for (const statement of [
    'delete from acts where seq = 2',
    `update acts set commitment = '${root_hash}' where seq = 1`,
    'update act_head set seq = seq - 1',
  ]) {
    writeFileSync(join(target, 'cstp.db'), catalogue)
    const db = new Database(join(target, 'cstp.db'))
    for (const { name } of db
      .query<{ name: string }, []>(`select name from sqlite_schema where type = 'trigger'`)
      .all())
      db.run(`drop trigger ${name}`)
    db.run(statement)
    db.close()
    const other = await measured(target, 'cstp.db')
    const files = made.files.map((file) => (file.path === 'cstp.db' ? other : file))
    writeFileSync(join(target, manifestName), JSON.stringify({ ...made, files }))
    await expect(checkBackup(target)).rejects.toThrow('the ledger in the backup is not the one that its manifest names')
  }
})

test('what was moved, restored or is fresh starts; a restore says how far it goes back', async () => {
  const home = await testDir()
  const { dir, settings } = await twoStates(home)
  const signal = new AbortController().signal
  await backup({ settings, target: join(home, 'backup'), signal, progress() {} })
  await act(settings)
  const before = (await readMark(dir))!.size
  const options = { backup: join(home, 'backup'), data_dir: dir, force: true, signal, progress() {} }
  const { thread_entries } = await restore(options)
  expect(thread_entries.before).toBe(before)
  expect(thread_entries.now!).toBeLessThan(before)
  expect(await starts(settings)).toBe('it starts')
  renameSync(dir, join(home, 'moved'))
  expect(await starts(await settingsOf(join(home, 'moved')))).toBe('it starts')
  expect(await starts(settings)).toBe('it starts')
})

test('a backup whose thread was ahead of its evidence is copied once more', async () => {
  const home = await testDir()
  const { dir, old } = await twoStates(home)
  // As if the second event had come between the two copies: the first time the evidence is the older one.
  const copy = join(home, 'copy')
  cpSync(join(old, 'keys'), join(copy, 'keys'), { recursive: true })
  const sources = new Map([
    ['provenance.db', join(old, 'provenance.db')],
    ['cstp.db', join(dir, 'cstp.db')],
  ])
  let reads = 0
  const get = sources[Symbol.iterator].bind(sources)
  sources[Symbol.iterator] = () => {
    if (++reads === 2) sources.set('provenance.db', join(dir, 'provenance.db'))
    return get()
  }
  await copyTogether(sources, copy)
  cpSync(join(dir, 'decisions'), join(copy, 'decisions'), { recursive: true })
  expect(reads).toBe(2)
  expect(await starts(await settingsOf(copy))).toBe('it starts')
})

const server = postgres()
const title = 'PostgreSQL: a database that was emptied stops the start'
if (server === null) test.skip(`${title} (${whyNoPostgres})`, () => {})
else
  test(title, async () => {
    const home = await testDir()
    const pem = generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' })
    const path = join(home, 'own.pem')
    writeFileSync(path, pem, { mode: 0o600 })
    const env = { CSTP_AUTH_TOKENS: 'local:t0ken-of-the-test', CSTP_EVIDENCE_KEY: path }
    await act(await settingsOf(home, { ...env, CSTP_STORE_URL: await freshDatabase(server) }))
    const other = await settingsOf(home, { ...env, CSTP_STORE_URL: await freshDatabase(server) })
    await refused(other, 'the database of CSTP_STORE_URL', 'is an older copy')
  })

test('a start without the mark says so in the log, once the ledger has entries that it covered', async () => {
  const dir = await testDir()
  const settings = await settingsOf(dir)
  const warned: string[] = []
  const listening = Object.assign((level: string, message: string) => level === 'warn' && warned.push(message), {
    flush() {},
  }) as unknown as typeof log
  const start = async (ago_ms: number) => {
    const { dispatch, close } = await openProgram(settings, listening, { now: () => Date.now() - ago_ms })
    const params = { decision: 'Use SQLite', confidence: 0.8, category: 'architecture' }
    const { signal } = new AbortController()
    await dispatch({ method: 'cstp.recordDecision', params, caller, request_id: 'r', signal })
    await close()
  }
  await start(120_000)
  await start(0)
  expect(warned.filter((text) => text.includes('thread.mark'))).toEqual([])
  rmSync(markPath(dir))
  await start(0)
  expect(warned.filter((text) => text.includes('thread.mark'))).toEqual([
    expect.stringMatching(/thread\.mark is missing, although the ledger has \d+ entries$/),
  ])
})
