/** Backups taken while servers write are whole and of one moment; restores are whole or not at all. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { chmodSync, cpSync, existsSync } from 'node:fs'
import { appendFile, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { backup } from '../../src/app/backup/take.ts'
import { loadSettings } from '../../src/app/config/config.ts'
import { bareEnv, cstp, type Ended, type RunningServer, spawn, startServer } from '../support/process.ts'

setDefaultTimeout(120_000)

let home: string
let dir: string
let copy: string
const servers: RunningServer[] = []

beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'cstp-backup-'))
  dir = join(home, 'data')
  copy = join(home, 'copy')
  // Bun keeps a cache in HOME, which is this folder too, and would make it readable to others.
  await mkdir(dir, { mode: 0o700 })
})
afterEach(async () => {
  for (const server of servers.splice(0)) await server.kill('SIGKILL')
  await rm(home, { recursive: true, force: true })
})

const env = (data_dir = dir) => bareEnv(data_dir)
const run = (...args: string[]): Promise<Ended> => cstp(args, env())
async function start(data_dir = dir): Promise<RunningServer> {
  const server = await startServer({ dir: data_dir })
  servers.push(server)
  return server
}
async function seed(count: number): Promise<void> {
  const line = (_: unknown, n: number) =>
    `${JSON.stringify({ decision: `Decide ${n}`, confidence: 0.7, category: 'c', date: '2026-07-01', source: `s${n}` })}\n`
  const lines = Array.from({ length: count }, line).join('')
  expect(await cstp(['import', '-', '--local'], env(), lines)).toMatchObject({ status: 0 })
}
const filesIn = async (folder: string): Promise<string[]> =>
  (await readdir(folder, { recursive: true, encoding: 'utf8' })).sort()
const oneFile = async (folder = dir): Promise<string> =>
  (await filesIn(folder)).filter((name) => name.endsWith('.yaml'))[0]!

/** What the doctor has to say of a data directory, beyond that tests use an embedder for tests. */
async function illness(data_dir: string): Promise<unknown[]> {
  const { out } = await cstp(['doctor', '--json'], env(data_dir))
  return JSON.parse(out).findings.filter(
    ({ severity, check }: Record<string, string>) => severity !== 'note' && check !== 'settings',
  )
}

test('under the writes of two processes, everything acknowledged before is in it, and it is of one moment', async () => {
  const two = [await start(), await start()]
  /** By decision: its text, and its outcome once that was answered. */
  const acknowledged = new Map<string, { text: string; outcome: string | null }>()
  let writing = true
  let serial = 0
  const client = async (server: RunningServer) => {
    while (writing) {
      const text = `Choose option ${++serial}: it keeps\n"two lines" # whole`
      const { decision_id } = await server.call('recordDecision', { decision: text, confidence: 0.6, category: 'load' })
      const one: { text: string; outcome: string | null } = { text, outcome: null }
      acknowledged.set(String(decision_id), one)
      if (serial % 3 !== 0) continue
      await server.call('reviewDecision', { decision_id, outcome: 'success', lessons: `of ${text}` })
      one.outcome = 'success'
    }
  }
  const load = Promise.all(two.flatMap((server) => [1, 2, 3].map(() => client(server))))
  while (acknowledged.size < 200) await Bun.sleep(5)
  const before = structuredClone(acknowledged)
  const taken = await run('backup', copy, '--json')
  const after = acknowledged.size
  writing = false
  await load
  expect(taken).toMatchObject({ status: 0, err: '' })
  // Otherwise nothing was put to the test.
  expect(after).toBeGreaterThan(before.size)
  const { decisions } = JSON.parse(taken.out)
  expect(decisions).toBeGreaterThanOrEqual(before.size)

  const restored = join(home, 'restored')
  expect(await run('restore', copy, '--data-dir', restored)).toMatchObject({ status: 0 })
  expect(await illness(restored)).toEqual([])
  const server = await start(restored)
  for (const [id, { text, outcome }] of before) {
    const record = await server.call('getDecision', { id })
    expect(record.decision).toBe(text)
    if (outcome !== null) expect(record).toMatchObject({ outcome, lessons: `of ${text}` })
    expect(existsSync(join(restored, 'decisions', id.slice(0, 4), id.slice(5, 7), `${id}.yaml`))).toBe(true)
  }
  expect(await server.call('getStats', {})).toMatchObject({ total: decisions })
  await server.call('recordDecision', { decision: 'Go on', confidence: 0.5, category: 'load' })
  await server.kill()
  expect(await illness(restored)).toEqual([])
})

test('holds what people and other parts put into the data directory, and nothing that is derived or half made', async () => {
  await seed(3)
  const edited = await oneFile()
  await appendFile(join(dir, edited), '\n# looked at by hand\n')
  await writeFile(join(dir, `${edited}.broken`), 'what was broken')
  await writeFile(join(dir, `${edited}.1-abcdef.tmp`), 'half')
  await writeFile(join(dir, 'token'), 'secret\n', { mode: 0o644 })
  await writeFile(join(dir, 'token.1.ab.tmp'), 'half')
  for (const [folder, file] of [
    ['keys', 'evidence.pem'],
    ['bundles/2026', 'b.json'],
    ['search', 'x.lance'],
    ['lance', 'y.lance'],
  ] as const) {
    await mkdir(join(dir, folder), { recursive: true })
    await writeFile(join(dir, folder, file), `content of ${file}`)
  }
  const elsewhere = join(home, 'elsewhere.db')
  const { Database } = await import('bun:sqlite')
  const evidence = new Database(elsewhere, { create: true })
  evidence.run('PRAGMA journal_mode = WAL')
  evidence.run('create table events (seq integer primary key)')
  evidence.run('insert into events values (1), (2)')

  const done = await run('backup', copy, '--json', '--provenance-db', elsewhere, '--search-url', join(dir, 'lance'))
  evidence.close()
  expect(done.err).toBe('')
  expect(JSON.parse(done.out)).toMatchObject({ decisions: 3, evidence_records: 2 })
  const held = await filesIn(copy)
  expect(held.filter((name) => !name.startsWith('decisions'))).toEqual([
    'bundles',
    'bundles/2026',
    'bundles/2026/b.json',
    'cstp-backup.json',
    'cstp.db',
    'keys',
    'keys/evidence.pem',
    'keys/thread.mark',
    'provenance.db',
    'token',
  ])
  expect(held.filter((name) => name.startsWith(edited))).toEqual([edited, `${edited}.broken`])
  expect(await readFile(join(copy, edited), 'utf8')).toBe(await readFile(join(dir, edited), 'utf8'))
  for (const name of ['', ...held]) {
    const found = await stat(join(copy, name))
    expect([name, found.mode & 0o777]).toEqual([name, found.isDirectory() ? 0o700 : 0o600])
  }
  expect((await readdir(home)).filter((name) => name.includes('partial'))).toEqual([])
})

test('a decision that changed while the backup was taken is in it as of the catalogue', async () => {
  await seed(2)
  const { copyDatabase, decisionFiles } = await import('../../src/drivers/store/sqlite/backup.ts')
  copyDatabase(join(dir, 'cstp.db'), join(home, 'copy.db'))
  const path = await oneFile()
  const before = await readFile(join(dir, path), 'utf8')
  const id = path.slice(-'2026-07-01-decision-000000000000.yaml'.length, -'.yaml'.length)
  expect(
    await run('call', 'reviewDecision', '--local', JSON.stringify({ decision_id: id, outcome: 'failure' })),
  ).toMatchObject({ status: 0 })
  const newer = { decision: 'Later', confidence: 0.5, category: 'c' }
  expect(await run('call', 'recordDecision', '--local', JSON.stringify(newer))).toMatchObject({ status: 0 })
  const found = new Map(
    [...decisionFiles(dir, join(home, 'copy.db'))].map((one) => [`decisions/${one.path}`, one.content]),
  )
  expect(found.size).toBe(2)
  expect(new TextDecoder().decode(found.get(path))).toBe(before)
})

test('nothing is overwritten, and nothing is copied into itself', async () => {
  expect(await run('backup', copy)).toMatchObject({
    status: 1,
    err: expect.stringContaining('there is nothing to back up'),
  })
  await seed(1)
  await mkdir(copy)
  expect(await run('backup', copy)).toMatchObject({ status: 0 })
  expect(await run('backup', copy)).toMatchObject({ status: 1, err: expect.stringContaining('is not empty') })
  expect(await run('backup', join(dir, 'inside'))).toMatchObject({
    status: 1,
    err: expect.stringContaining('must not be in the data directory'),
  })
  expect(await run('restore', copy)).toMatchObject({ status: 1, err: expect.stringContaining('is not empty; --force') })
})

test('a backup that was killed is none', async () => {
  await seed(300)
  const partial = async () => (await readdir(home)).find((name) => name.endsWith('.partial'))
  for (const wait of [0, 3, 10, 20, 40]) {
    const child = spawn(['backup', copy], env())
    while (child.exitCode === null && (await partial()) === undefined) await Bun.sleep(1)
    await Bun.sleep(wait)
    child.kill('SIGKILL')
    await child.exited
    const left = await partial()
    if (left === undefined) {
      // It was faster: then it is whole.
      expect(await run('restore', copy, '--check')).toMatchObject({ status: 0 })
      await rm(copy, { recursive: true })
      continue
    }
    expect(existsSync(copy)).toBe(false)
    if (!existsSync(join(home, left, 'cstp-backup.json')))
      expect(await run('restore', join(home, left), '--data-dir', join(home, 'to'))).toMatchObject({
        status: 1,
        err: expect.stringContaining('is not a complete backup'),
      })
    await rm(join(home, left), { recursive: true })
  }
  const stopped = spawn(['backup', copy], env())
  while (stopped.exitCode === null && (await partial()) === undefined) await Bun.sleep(1)
  stopped.kill('SIGTERM')
  await stopped.exited
  expect(await partial()).toBeUndefined()
})

test('a backup that is ended leaves nothing, at whichever decision, and nothing comes back', async () => {
  await seed(60)
  const { settings } = await loadSettings({ env: env(), flags: {}, readFile: async () => '' })
  for (const end of [1, 2, 20, 33, 59]) {
    const ending = new AbortController()
    const progress = (done: number) => {
      if (done === end) ending.abort(new Error('ended'))
    }
    const ended = backup({ settings, target: copy, signal: ending.signal, progress })
    await expect(ended).rejects.toThrow('ended')
    // A write that was not waited for would have time to begin and to end.
    await Bun.sleep(20)
    expect((await readdir(home)).filter((name) => name.includes('copy'))).toEqual([])
  }
})

describe('a restore refuses', () => {
  const manifest = () => join(copy, 'cstp-backup.json')
  const change = async (edit: (value: Record<string, never>) => unknown) =>
    writeFile(manifest(), JSON.stringify(edit(JSON.parse(await readFile(manifest(), 'utf8')))))
  const damages: [string, () => Promise<unknown>, string][] = [
    ['no backup', () => rm(copy, { recursive: true }), 'is not a complete backup'],
    [
      'a changed decision',
      async () =>
        writeFile(
          join(copy, await oneFile(copy)),
          (await readFile(join(copy, await oneFile(copy)), 'utf8')).replace('Decide', 'Decids'),
        ),
      'its content was changed',
    ],
    ['a missing file', async () => rm(join(copy, await oneFile(copy))), 'is missing'],
    [
      'a cut database',
      async () => writeFile(join(copy, 'cstp.db'), (await readFile(join(copy, 'cstp.db'))).subarray(0, 8_192)),
      'cstp.db: has 8192 bytes',
    ],
    [
      'a cut manifest',
      async () => writeFile(manifest(), (await readFile(manifest())).subarray(0, 300)),
      'cstp-backup.json is damaged',
    ],
    ['a manifest without files', () => change(({ files: _, ...rest }) => rest), 'cstp-backup.json is damaged: files'],
    ['a newer format', () => change((value) => ({ ...value, format: 2 })), 'start the newer program'],
    ['newer tables', () => change((value) => ({ ...value, databases: { 'cstp.db': 99 } })), 'start the newer program'],
    [
      'a way out of the backup',
      () => change((value) => ({ ...value, files: [{ path: '../data/x', size: 1, sha256: 'a'.repeat(64) }] })),
      'leads out of the backup',
    ],
  ]
  let made: string
  beforeAll(async () => {
    made = await mkdtemp(join(tmpdir(), 'cstp-backup-made-'))
    const data = join(made, 'data')
    const line = JSON.stringify({ decision: 'Decide', confidence: 0.7, category: 'c' })
    expect(await cstp(['import', '-', '--local'], env(data), `${line}\n`)).toMatchObject({ status: 0 })
    expect(await cstp(['backup', join(made, 'copy')], env(data))).toMatchObject({ status: 0 })
  })
  afterAll(() => rm(made, { recursive: true, force: true }))
  for (const [name, damage, message] of damages) {
    test(name, async () => {
      cpSync(join(made, 'copy'), copy, { recursive: true })
      await damage()
      const to = join(home, 'to')
      expect(await run('restore', copy, '--data-dir', to)).toMatchObject({
        status: 1,
        err: expect.stringContaining(message),
      })
      expect((await readdir(home)).sort()).toEqual(name === 'no backup' ? ['data'] : ['copy', 'data'])
    })
  }

  test('while a server runs on the data; afterwards it moves them aside', async () => {
    await seed(2)
    expect(await run('backup', copy)).toMatchObject({ status: 0 })
    const server = await start()
    await server.call('recordDecision', { decision: 'After the backup', confidence: 0.5, category: 'c' })
    const refused = await run('restore', copy, '--force')
    expect(refused).toMatchObject({ status: 1, err: expect.stringContaining('a server or another command works on') })
    expect(await server.call('getStats', {})).toMatchObject({ total: 3 })
    await server.kill()
    const done = await run('restore', copy, '--force', '--json')
    expect(done).toMatchObject({ status: 0 })
    expect(await illness(dir)).toEqual([])
    const { aside } = JSON.parse(done.out)
    expect(await illness(aside)).toEqual([])
    const stats = async (data_dir: string) =>
      JSON.parse((await cstp(['call', 'getStats', '--local'], env(data_dir))).out)
    expect(await stats(dir)).toMatchObject({ total: 2 })
    expect(await stats(aside)).toMatchObject({ total: 3 })
  })
})

test('a restore goes into an empty folder as well, which may be a mount; one that was cut off there is never served', async () => {
  await seed(2)
  expect(await run('backup', copy)).toMatchObject({ status: 0 })
  const to = join(home, 'volume')
  await mkdir(to)
  chmodSync(to, 0o700)
  expect(await run('restore', copy, '--data-dir', to)).toMatchObject({ status: 0 })
  expect(await illness(to)).toEqual([])
  expect(await readdir(to)).not.toContain('.restoring')

  const cut = join(home, 'cut')
  await mkdir(join(cut, '.restoring'), { recursive: true })
  const refused = await cstp(['call', 'getStats', '--local'], env(cut))
  expect(refused).toMatchObject({ status: 1, err: expect.stringContaining('was interrupted: empty the folder') })
})
