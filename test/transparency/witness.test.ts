/** A witness over real HTTP: what it signs, what it remembers, and when it shouts. */
import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parseCheckpoint } from '../../src/domain/ledger/engine/checkpoints.ts'
import { openNote, parseNote, parseVerifier, type Verifier } from '../../src/domain/ledger/engine/note.ts'
import { leafHash } from '../../src/domain/ledger/engine/tree.ts'
import { Alarm, type AlarmKind, checkGrowth } from '../../src/transparency/check.ts'
import { lookAt, openWitness, readVerifier } from '../../src/transparency/open.ts'
import { logReader, Unreachable } from '../../src/transparency/reader.ts'
import { createWitnessHandler } from '../../src/transparency/serve.ts'
import { folderOf, look as lookOnce, type Witness } from '../../src/transparency/witness.ts'
import { append } from '../support/evidence/log.ts'
import { history, type LogServer, newSigner, serveLog } from '../support/evidence/log-server.ts'
import { temporaryDir } from '../support/process.ts'

let dir = ''
let log: LogServer
let witness: Witness
const signer = newSigner()
const { signal } = new AbortController()

beforeEach(async () => {
  dir = await temporaryDir('cstp-witness-')
  log = await serveLog(await history(20), signer)
  witness = await openWitness({ state_dir: dir, key_path: undefined, name: undefined })
})
afterEach(async () => {
  await log.stop()
  await rm(dir, { recursive: true, force: true })
})

const look = (key: Verifier | null = null, by = witness) => lookAt(by, log.url, key, signal)
const folder = () => folderOf(dir, log.url)
const latest = () => readFile(join(folder(), 'latest.note'), 'utf8')

/** The alarm that a look ends with. */
async function alarm(kind: AlarmKind, key: Verifier | null = null): Promise<Alarm> {
  const error = await look(key).then(
    (seen) => new Error(`nothing was found wrong: ${JSON.stringify(seen)}`),
    (thrown) => thrown,
  )
  if (!(error instanceof Alarm)) throw error
  expect(error.kind).toBe(kind)
  return error
}

test('cosigns the checkpoint: the note verifies with the key of the log and that of the witness', async () => {
  const seen = await look()
  expect(seen).toMatchObject({ status: 'new', origin: 'log.test/a', size: 20 })
  const witnessKey = parseVerifier(await readFile(join(dir, 'witness.pub'), 'utf8'))
  const { text, verified } = openNote(await latest(), [parseVerifier(signer.verifier_key), witnessKey])
  expect(parseCheckpoint(text)).toMatchObject({ size: 20, root_hash: seen.root_hash })
  expect(verified.map(({ verifier }) => verifier.type)).toEqual(['note', 'cosignature'])
  expect(Math.abs(verified[1]!.timestamp! - Date.now() / 1_000)).toBeLessThan(600)
  for (const file of ['latest.note', 'checkpoints/0000000020.note'])
    expect((await stat(join(folder(), file))).mode & 0o777).toBe(0o600)
  expect((await stat(join(dir, 'witness.pem'))).mode & 0o777).toBe(0o600)
})

test('follows a log that grows, and keeps each size once', async () => {
  const evidence = await history(20)
  log.show(evidence)
  await look()
  expect((await look()).status).toBe('same')
  for (const more of [1, 44, 100]) {
    await append(evidence, more)
    log.show(evidence)
    expect(await look()).toMatchObject({ status: 'grown' })
  }
  expect((await look()).status).toBe('same')
  const kept = await readdir(join(folder(), 'checkpoints'))
  expect(kept.sort()).toEqual([20, 21, 65, 165].map((size) => `${String(size).padStart(10, '0')}.note`))
  const sizes = await Promise.all(kept.map((name) => readFile(join(folder(), 'checkpoints', name), 'utf8')))
  expect(sizes.map((note) => parseCheckpoint(parseNote(note).text).size)).toEqual([20, 21, 65, 165])
})

test('an empty log is seen, and grows', async () => {
  log.show(await history(0))
  expect(await look()).toMatchObject({ status: 'new', size: 0 })
  expect((await look()).status).toBe('same')
  log.show(await history(3))
  expect(await look()).toMatchObject({ status: 'grown', size: 3 })
  log.show(await history(0))
  await alarm('rollback')
})

describe('shouts', () => {
  test('when the log was rolled back, again and again, and goes on when it is whole again', async () => {
    await look()
    const before = await latest()
    log.show(await history(12))
    const error = await alarm('rollback')
    expect(error.message).toBe('the log had 20 records and now has 12')
    // Both sides are kept: the one that it signed, and the one that is served.
    expect(await readFile(join(error.kept!, 'seen.note'), 'utf8')).toStartWith(parseNote(before).text)
    const served = await readFile(join(error.kept!, 'served.note'), 'utf8')
    expect(parseCheckpoint(openNote(served, [parseVerifier(signer.verifier_key)]).text).size).toBe(12)
    const report = JSON.parse(await readFile(join(error.kept!, 'report.json'), 'utf8'))
    expect(report).toMatchObject({ kind: 'rollback', url: log.url, pinned_key: signer.verifier_key })
    expect((await alarm('rollback')).kept).toBe(error.kept)
    expect(await readdir(join(folder(), 'alarms'))).toHaveLength(1)
    expect(await latest()).toBe(before)
    log.show(await history(25))
    expect((await look()).status).toBe('grown')
  })

  test('when another history has the same size', async () => {
    await look()
    log.show(await history(20, 10))
    const error = await alarm('fork')
    const notes = await Promise.all(
      ['seen.note', 'served.note'].map((name) => readFile(join(error.kept!, name), 'utf8')),
    )
    const [seen, served] = notes.map((note) =>
      parseCheckpoint(openNote(note, [parseVerifier(signer.verifier_key)]).text),
    )
    expect([seen!.size, served!.size]).toEqual([20, 20])
    expect(seen!.root_hash).not.toBe(served!.root_hash)
  })

  test('when another history is longer, or was rolled back and grew again', async () => {
    await look()
    for (const [size, forged] of [
      [40, 10],
      [21, 19],
      [21, 0],
      [64, 1],
    ] as const) {
      log.show(await history(size, forged))
      const error = await alarm('fork')
      expect(JSON.parse(await readFile(join(error.kept!, 'report.json'), 'utf8')).proof).toContain('hashes')
    }
    log.show(await history(15, 10))
    await alarm('rollback')
  })

  test('when the log says that it grew and will not prove it', async () => {
    await look()
    log.show(await history(30))
    for (const body of ['{}', 'null', '[]', 'no json', '{"hashes":[]}', '{"hashes":["zz"]}', '{"hashes":[1]}']) {
      log.fake = (path) => (path.startsWith('/evidence/consistency') ? new Response(body) : null)
      await alarm('fork')
    }
    log.fake = (path) =>
      path.startsWith('/evidence/consistency')
        ? Response.json({ error: 'invalid_params', message: 'no' }, { status: 400 })
        : null
    await alarm('fork')
  })

  test('when the key is another one, and takes it when the operator says so', async () => {
    await look()
    const other = newSigner('log.test/b')
    log.show(await history(22), other)
    expect((await alarm('changed_key')).served).toBe(`${other.verifier_key}\n`)
    const named = parseVerifier(other.verifier_key)
    // A new key is no excuse for another history.
    log.show(await history(22, 5), other)
    await alarm('fork', named)
    log.show(await history(22), other)
    expect((await look(named)).status).toBe('grown')
    expect((await look()).status).toBe('same')
    expect((await alarm('changed_key', parseVerifier(signer.verifier_key))).kind).toBe('changed_key')
  })

  test('when the key is not the one that was named at the first look', async () => {
    await alarm('changed_key', parseVerifier(newSigner().verifier_key))
  })

  test('when a checkpoint is not signed by the key that the log names', async () => {
    await look()
    const forger = newSigner()
    const cases = [
      forger.sign('log.test/a\n20\nx\n'),
      signer.sign('log.test/other\n20\nAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n'),
      signer.sign('log.test/a\nmany\nAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n'),
      (await latest()).replace('\n20\n', '\n21\n'),
      '<html>welcome</html>',
      '',
    ]
    for (const note of cases) {
      log.fake = (path) => (path === '/evidence/checkpoint' ? new Response(note) : null)
      const error = await alarm('bad_signature')
      expect(await readFile(join(error.kept!, 'served.note'), 'utf8')).toBe(note)
    }
  })

  test('when the log itself says that it is damaged', async () => {
    await look()
    const evidence = await history(30)
    const { hashes } = evidence
    evidence.hashes = async (seq, limit) => (await hashes(seq, limit)).map((hash) => leafHash(hash).toString('hex'))
    log.show(evidence)
    await alarm('damaged')
  })
})

describe('does not shout', () => {
  test('when nobody answers, or something else does', async () => {
    await look()
    const before = await latest()
    const answers: [number, string][] = [
      [500, '{"error":"internal_error","message":"x"}'],
      [502, '<html>bad gateway</html>'],
      [503, '{"error":"unavailable"}'],
      [429, '{"error":"rate_limited"}'],
      [404, 'not found'],
      [302, ''],
      [401, '{"error":"unauthorized"}'],
    ]
    for (const [status, body] of answers) {
      log.fake = () => new Response(body, { status, ...(status === 302 && { headers: { location: '/elsewhere' } }) })
      await expect(look()).rejects.toBeInstanceOf(Unreachable)
    }
    log.fake = () => new Response('x'.repeat(2_000_000))
    await expect(look()).rejects.toBeInstanceOf(Unreachable)
    log.fake = () => new Response('<html>We are back soon.</html>', { headers: { 'content-type': 'text/html' } })
    await expect(look()).rejects.toBeInstanceOf(Unreachable)
    log.fake = () => new Response(Buffer.from([0xff, 0xfe]))
    await expect(look()).rejects.toBeInstanceOf(Unreachable)
    await log.stop()
    await expect(look()).rejects.toBeInstanceOf(Unreachable)
    expect(await latest()).toBe(before)
    expect(await readdir(folder())).not.toContain('alarms')
  })

  test('when something between kept an older checkpoint, which the log can prove', async () => {
    const old = await (await fetch(`${log.url}/evidence/checkpoint`)).text()
    log.show(await history(33))
    await look()
    const before = await latest()
    log.fake = (path) => (path === '/evidence/checkpoint' ? new Response(old) : null)
    expect(await look()).toMatchObject({ status: 'stale', size: 20 })
    expect(await latest()).toBe(before)
  })
})

describe('what it remembers', () => {
  test('is not forgotten silently', async () => {
    await look()
    witness.latest.close()
    const open = () => openWitness({ state_dir: dir, key_path: undefined, name: undefined })
    await writeFile(join(dir, 'logs.db'), 'no database')
    await expect(open()).rejects.toThrow('not a database')
    await writeFile(join(dir, 'logs.db'), '')
    witness = await open()
    await expect(look()).rejects.toThrow('the state of the witness is damaged')
  })

  test('survives an end before its notes are written', async () => {
    await look()
    log.show(await history(21))
    const { note } = await checkGrowth(logReader(log.url, signal), parseVerifier(signer.verifier_key), {
      origin: 'log.test/a',
      ...witness.latest.get('log.test/a')!,
    })
    const seen = parseCheckpoint(parseNote(note).text)
    expect(witness.latest.step('log.test/a', witness.latest.get('log.test/a'), { ...seen, note })).toBe(true)
    log.show(await history(20))
    await alarm('rollback')
    log.show(await history(21))
    expect((await look()).status).toBe('same')
    expect(parseCheckpoint(parseNote(await latest()).text).size).toBe(21)
  })

  test('is one history, whether it looks at the log or the log sends its checkpoints', async () => {
    await look()
    const logs = [parseVerifier(signer.verifier_key)]
    const handle = createWitnessHandler({ ...witness, logs, handled: () => {} })
    log.show(await history(20, 10))
    const forged = await (await fetch(`${log.url}/evidence/checkpoint`)).text()
    for (const [old, answer] of [
      [0, '20\n'],
      [20, 'the log has another root at the size that was cosigned before\n'],
    ] as const) {
      const body = `old ${old}\n\n${forged}`
      const response = await handle(new Request('http://witness/add-checkpoint', { method: 'POST', body }))
      expect([response.status, await response.text()]).toEqual([409, answer])
    }
  })

  test('is one history, whatever several witnesses on one folder are shown at once', async () => {
    const looks = await Promise.all(Array.from({ length: 8 }, () => look()))
    expect(looks.filter(({ status }) => status === 'new')).toHaveLength(1)
    // Half of them are shown one future, half another.
    const [right, forged] = [await serveLog(await history(40), signer), await serveLog(await history(40, 20), signer)]
    try {
      const proxies = [right, forged, right, forged, right, forged]
      const results = await Promise.allSettled(
        // The same address for the witness, another log behind it.
        proxies.map((one) => lookOnce(witness, { ...logReader(one.url, signal), url: log.url }, null)),
      )
      const accepted = results.filter((one) => one.status === 'fulfilled')
      const refused = results.filter((one) => one.status === 'rejected').map(({ reason }) => reason)
      expect(accepted).toHaveLength(3)
      expect(refused.map((one) => (one as Alarm).kind)).toEqual(['fork', 'fork', 'fork'])
    } finally {
      await right.stop()
      await forged.stop()
    }
  })
})

test('a key is read from its text or from a file', async () => {
  const path = join(dir, 'log.pub')
  await writeFile(path, `${signer.verifier_key}\n`)
  expect((await readVerifier(path)).text).toBe(signer.verifier_key)
  expect((await readVerifier(signer.verifier_key)).text).toBe(signer.verifier_key)
  await expect(readVerifier('nonsense')).rejects.toThrow('--key: expected a verifier key')
  await writeFile(path, 'nonsense')
  await expect(readVerifier(path)).rejects.toThrow(path)
})
