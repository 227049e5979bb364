/** A server, a witness, and an attacker with the server's disk: the programs as they are run. */
import { Database } from 'bun:sqlite'
import { afterEach, expect, test } from 'bun:test'
import { generateKeyPairSync } from 'node:crypto'
import { existsSync } from 'node:fs'
import { copyFile, mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { ownKeyPath } from '../../src/app/evidence.ts'
import { ownKey } from '../../src/core/key-file.ts'
import { parseCheckpoint } from '../../src/domain/ledger/engine/checkpoints.ts'
import { openNote, parseNote, parseVerifier } from '../../src/domain/ledger/engine/note.ts'
import { verifyConsistency, verifyInclusion } from '../../src/domain/ledger/engine/proof.ts'
import { openSqliteEvidence } from '../../src/drivers/evidence/sqlite/driver.ts'
import { append } from '../support/evidence/log.ts'
import {
  bareEnv,
  cstp,
  freePort,
  type Service,
  serve,
  spawn,
  startServer,
  temporaryDir,
  until,
} from '../support/process.ts'

const dirs: string[] = []
const services: Service[] = []
afterEach(async () => {
  for (const one of services.splice(0)) await one.stop('SIGKILL')
  for (const dir of dirs.splice(0)) await rm(dir, { recursive: true, force: true })
})

async function folder(): Promise<string> {
  const dir = await temporaryDir()
  dirs.push(dir)
  return dir
}
async function start(dir: string, port = 0, more: Record<string, string> = {}): Promise<Service> {
  const service = await serve(bareEnv(dir, { CSTP_LOG_LEVEL: 'warn', ...more }), port ? ['--port', String(port)] : [])
  services.push(service)
  return service
}
async function stop(service: Service): Promise<void> {
  services.splice(services.indexOf(service), 1)
  expect((await service.stop()).status).toBe(0)
}

const database = (dir: string) => join(dir, 'provenance.db')

/** Appends to the database of a server that may or may not run; its key is there before its first record. */
async function grow(dir: string, count: number, salt = ''): Promise<void> {
  await ownKey(ownKeyPath(dir), 'the evidence key')
  const evidence = await openSqliteEvidence(database(dir))
  await append(evidence, count, salt)
  await evidence.close()
}

/** Rolls the data directory back to where it was before its first start: nothing in it contradicts the older log any more. */
async function rollBack(dir: string, copy: string): Promise<void> {
  for (const path of [database(dir), join(dir, 'cstp.db')])
    for (const end of ['', '-wal', '-shm']) await rm(`${path}${end}`, { force: true })
  await rm(join(dir, 'keys', 'thread.mark'), { force: true })
  await copyFile(copy, database(dir))
}

test('a witness follows a log, and raises an alarm when its database is an older copy or another history', async () => {
  const [dir, watch, port] = [await folder(), await folder(), await freePort()]
  const url = `http://127.0.0.1:${port}`
  const look = (...more: string[]) => cstp(['witness', url, '--once', '--state', watch, ...more], bareEnv(watch))

  await grow(dir, 30)
  await copyFile(database(dir), join(dir, 'older.db'))
  let service = await start(dir, port)
  const first = await look()
  expect([first.status, first.err]).toEqual([0, ''])
  expect(first.out).toMatch(/ new: 30 records, root [0-9a-f]{16}…/)
  // Appended by another process while the server runs.
  await grow(dir, 12)
  await until('the checkpoint grows', async () =>
    (await (await fetch(`${url}/evidence/checkpoint`)).text()).includes('\n42\n'),
  )
  const grown = JSON.parse((await look('--json')).out)
  expect(grown).toMatchObject({ url, status: 'grown', size: 42 })
  const keys = [
    parseVerifier(await (await fetch(`${url}/.well-known/cstp-evidence-key`)).text()),
    parseVerifier(await readFile(join(watch, 'witness.pub'), 'utf8')),
  ]
  expect(openNote(await readFile(grown.note_path, 'utf8'), keys).verified).toHaveLength(2)
  await stop(service)

  await rollBack(dir, join(dir, 'older.db'))
  service = await start(dir, port)
  const rolledBack = await look()
  expect(rolledBack.status).toBe(3)
  expect(rolledBack.err).toContain('ALARM (rollback)')
  expect(rolledBack.err).toContain('the log had 42 records and now has 30')
  await stop(service)

  // As long as it was, and well signed, but with other records since the copy.
  await grow(dir, 12, 'forged')
  service = await start(dir, port)
  const forked = await look('--json')
  expect(forked.status).toBe(3)
  const { alarm, kept } = JSON.parse(forked.err)
  expect(alarm).toBe('fork')
  expect((await readdir(kept)).sort()).toEqual(['report.json', 'seen.note', 'served.note'])
  const sides = await Promise.all(['seen.note', 'served.note'].map((name) => readFile(join(kept, name), 'utf8')))
  const [seen, served] = sides.map((note) => parseCheckpoint(openNote(note, keys.slice(0, 1)).text))
  expect([seen!.size, served!.size]).toEqual([42, 42])
  expect(seen!.root_hash).not.toBe(served!.root_hash)
  await stop(service)

  // A new key, which nobody has given to the witness.
  await rm(join(dir, 'keys'), { recursive: true })
  expect((await cstp(['evidence', 'new-key'], bareEnv(dir))).status).toBe(0)
  service = await start(dir, port)
  expect((await look()).err).toContain('ALARM (changed_key)')
  await stop(service)

  const away = await look()
  expect(away.status).toBe(1)
  expect(away.err).toContain("the log can't be reached")
  expect(away.err).not.toContain('ALARM')
}, 120_000)

test('a witness that runs on reports what it can’t reach, and ends with an alarm', async () => {
  const [dir, watch, port] = [await folder(), await folder(), await freePort()]
  const url = `http://127.0.0.1:${port}`
  await grow(dir, 5)
  await copyFile(database(dir), join(dir, 'older.db'))
  await grow(dir, 5)
  const watching = spawn(['witness', url, '--interval', '1s', '--state', watch], bareEnv(watch))
  const ended = Promise.all([
    new Response(watching.stdout).text(),
    new Response(watching.stderr).text(),
    watching.exited,
  ])
  const latest = async () => {
    const [log] = (await readdir(watch)).filter((name) => name.startsWith('127.0.0.1'))
    return parseCheckpoint(parseNote(await readFile(join(watch, log!, 'latest.note'), 'utf8')).text).size
  }
  const service = await start(dir, port)
  await until('the witness saw ten records', async () => (await latest()) === 10)
  await stop(service)
  await rollBack(dir, join(dir, 'older.db'))
  await start(dir, port)
  const [out, err, status] = await ended
  expect(out).toContain(' new: 10 records')
  expect(err).toContain('ALARM (rollback)')
  expect(status).toBe(3)
}, 120_000)

test('a command line that is none is refused before anything is made', async () => {
  const watch = await folder()
  const state = join(watch, 'state')
  const cases: [string[], string][] = [
    [['not-an-address'], 'an address such as'],
    [['http://user:secret@127.0.0.1:1'], 'no credentials'],
    [['http://127.0.0.1:1', '--interval', '0s'], '--interval needs'],
    [['http://127.0.0.1:1', '--interval', 'soon'], '--interval needs'],
    [['http://127.0.0.1:1', '--once', '--interval', '5s'], 'exclude each other'],
    [['http://127.0.0.1:1', '--key', 'nonsense'], '--key: expected a verifier key'],
  ]
  for (const [args, why] of cases) {
    const { status, err } = await cstp(['witness', ...args, '--state', state], bareEnv(watch))
    expect([args, status > 0, err.includes(why)]).toEqual([args, true, true])
    expect(err).not.toContain('secret')
  }
  expect(existsSync(state)).toBe(false)
}, 120_000)

test('cstp evidence prints checkpoints and proofs that hold, from a server and from the data directory', async () => {
  const dir = await folder()
  await grow(dir, 70)
  const service = await start(dir)
  const env = bareEnv(dir)
  for (const where of [['--url', service.url], ['--local']]) {
    const run = (...args: string[]) => cstp(['evidence', ...args, ...where], env)
    const note = (await run('checkpoint')).out
    const key = parseVerifier((await run('key')).out)
    const checkpoint = parseCheckpoint(openNote(note, [key]).text)
    expect(checkpoint).toMatchObject({ origin: key.name, size: 70 })
    expect(key.name).toMatch(/^cstp\/[0-9a-f]{16}$/)
    const proof = JSON.parse((await run('prove', '42', '--json')).out)
    expect(verifyInclusion(proof)).toBe(true)
    expect(proof.root_hash).toBe(checkpoint.root_hash)
    const printed = (await run('prove', '42')).out
    expect(printed).toStartWith('record 42 is in the log of 70 records; verified here\n')
    expect(printed).toContain('\nchain   intact, says the server\n')
    const tlog = (await run('prove', '42', '--tlog-proof')).out
    expect(tlog).toStartWith('c2sp.org/tlog-proof@v1\nindex 41\n')
    expect(tlog).toEndWith(`\n\n${note}`)
    // What the server says is the same either way; the rest need not be asked twice.
    if (where.includes('--local')) continue
    expect((await run('prove', '3', '--size', '64')).out).toStartWith('record 3 is in the log of 64 records')
    const whole = await run('verify')
    expect([whole.status, whole.out.split('\n')[0]]).toEqual([0, 'the chain of 70 records is intact'])
    const grew = JSON.parse((await run('consistency', '31', '--json')).out)
    const { old_root, new_root, hashes } = grew
    expect(verifyConsistency({ old_size: 31, new_size: 70, old_root, new_root, hashes })).toBe(true)
    expect((await run('consistency', '31', '64')).out).toStartWith('the log of 64 records begins with the first 31')
  }
  expect(
    (await cstp(['evidence', 'verify', '--expected-head', 'f'.repeat(64), '--url', service.url], env)).status,
  ).toBe(1)
  const wrong: [string[], number, string][] = [
    [['prove', '71'], 1, 'the log has 70 records'],
    [['prove'], 2, 'missing argument; usage: cstp evidence prove <seq>'],
    [['prove', 'x'], 2, 'needs a whole number'],
    [['consistency', '5', '71'], 1, 'the log has 70 records'],
    [['checkpoint', 'now'], 2, 'unexpected argument "now"'],
    [['toString'], 2, 'is not one of'],
  ]
  for (const [args, expected, why] of wrong) {
    const { status, err } = await cstp(['evidence', ...args, '--url', service.url], env)
    expect([args, status, err.includes(why)]).toEqual([args, expected, true])
  }
}, 120_000)

test('a proof of one record says that another one is damaged', async () => {
  const dir = await folder()
  await grow(dir, 9)
  const db = new Database(database(dir))
  for (const { name } of db.query<{ name: string }, []>(`select name from sqlite_schema where type = 'trigger'`).all())
    db.run(`drop trigger ${name}`)
  db.run(`update events set payload = '{}' where seq = 4`)
  db.close()
  for (const form of [[], ['--json'], ['--tlog-proof']]) {
    const { status, out, err } = await cstp(['evidence', 'prove', '2', '--local', ...form], bareEnv(dir))
    expect([form, status]).toEqual([form, 1])
    expect(err).toContain('the record is in the log, but the chain is damaged at record 4')
    if (form[0] === '--json') expect(JSON.parse(out).chain).toMatchObject({ intact: false, broken_at_seq: 4 })
    else expect(out).toContain(form.length === 0 ? 'chain   damaged at record 4' : 'c2sp.org/tlog-proof@v1')
  }
}, 120_000)

test('proofs and checkpoints hold while another process appends', async () => {
  const dir = await folder()
  await grow(dir, 3)
  const server = await startServer({ dir })
  const evidence = await openSqliteEvidence(database(dir))
  try {
    let appending = true
    const writer = (async () => {
      for (let batch = 0; batch < 60; batch++) await append(evidence, 1 + (batch % 9), `batch ${batch}`)
    })().finally(() => {
      appending = false
    })
    let before = await server.call('getCheckpoint', {})
    let looks = 0
    while (appending || looks < 5) {
      const after = await server.call('getCheckpoint', {})
      const sizes = { old_size: before.size as number, new_size: after.size as number }
      const { hashes } = await server.call('getConsistencyProof', { old: before.size, new: after.size })
      const roots = { old_root: before.root_hash as string, new_root: after.root_hash as string }
      expect(verifyConsistency({ ...sizes, ...roots, hashes: hashes as string[] })).toBe(true)
      const proof = await server.call('getInclusionProof', { seq: after.size })
      expect(verifyInclusion(proof as unknown as Parameters<typeof verifyInclusion>[0])).toBe(true)
      before = after
      looks++
    }
    await writer
    const kept = (await evidence.checkpoints()).map(({ size }) => size)
    expect(kept).toEqual([...new Set(kept)].sort((a, b) => a - b))
  } finally {
    await evidence.close()
    await server.kill('SIGKILL')
  }
}, 120_000)

test('servers that start together on a new folder sign with one key, which is nobody else’s to read', async () => {
  const dir = await folder()
  const both = await Promise.all([start(dir), start(dir)])
  const keys = await Promise.all(
    both.map(async ({ url }) => (await fetch(`${url}/.well-known/cstp-evidence-key`)).text()),
  )
  expect(keys[0]).toBe(keys[1]!)
  const files = await readdir(join(dir, 'keys'))
  // The mark is replaced by each server at any time.
  expect(files.filter((name) => !name.startsWith('thread.mark'))).toEqual(['evidence.pem'])
  expect((await stat(join(dir, 'keys', 'evidence.pem'))).mode & 0o777).toBe(0o600)
}, 120_000)

test('the key that a setting names signs; a wrong one stops the start by name, and its content is not shown', async () => {
  const dir = await folder()
  const path = join(dir, 'mine.pem')
  const pem = generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }) as string
  await mkdir(join(dir, 'data'))
  await writeFile(path, pem.replace('PRIVATE', 'SECRET'))
  const env = bareEnv(join(dir, 'data'), { CSTP_EVIDENCE_KEY: path })
  const stopped = await cstp(['serve', '--port', '0'], env)
  expect(stopped.status).toBe(1)
  expect(stopped.err).toContain('CSTP_EVIDENCE_KEY: expected an Ed25519 private key in')
  expect(stopped.err).not.toContain(pem.split('\n')[1]!)
  await writeFile(path, pem)
  await start(join(dir, 'data'), 0, { CSTP_EVIDENCE_KEY: path })
  expect(await readdir(join(dir, 'data'))).not.toContain('keys')
}, 120_000)
