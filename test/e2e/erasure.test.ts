/** An erased decision leaves no text behind: not in a file, not in a dump of the database, not in an answer. */
import { Database } from 'bun:sqlite'
import { expect, setDefaultTimeout, test } from 'bun:test'
import { generateKeyPairSync } from 'node:crypto'
import { existsSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { holding, tellAll, word } from '../support/erasure.ts'
import { freshDatabase, postgres, programOf, whyNoPostgres } from '../support/postgres.ts'
import { bareEnv, cstp, disk, type RunningServer, run, startServer, temporaryDir, until } from '../support/process.ts'

setDefaultTimeout(120_000)

const ground = { basis: 'GDPR Art. 17', reason: 'asked for by the person' }

test('no file contains any text of a decision after its erasure', async () => {
  const { server, ids, close } = await tellAll()
  const { call, dir } = server
  expect(holding(dir, word).length).toBeGreaterThan(2)
  for (const id of [ids.recorded, ids.observed]) {
    const dry = await call('eraseDecision', { id, ...ground, dry_run: true }, 'root')
    expect(dry).toMatchObject({ erased: false, redaction_record_id: null })
    const answer = await call('eraseDecision', { id, ...ground }, 'root')
    expect(answer).toMatchObject({ erased: true, pending: [] })
  }
  expect(holding(dir, word)).toEqual([])
  await close()
})

const database = postgres()
if (database === null) test.skip(`no dump of PostgreSQL has it either (${whyNoPostgres})`, () => {})
else
  test('no dump of PostgreSQL has it either', async () => {
    const url = await freshDatabase(database)
    const key = join(mkdtempSync(join(tmpdir(), 'cstp-erasure-')), 'evidence.pem')
    writeFileSync(key, generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }), {
      mode: 0o600,
    })
    const { server, ids, close } = await tellAll({ CSTP_STORE_URL: url, CSTP_EVIDENCE_KEY: key })
    const dumped = async () => {
      const { status, out, err } = await run([programOf('pg_dump'), '--dbname', url], {
        cwd: tmpdir(),
        env: { PATH: process.env.PATH! },
      })
      expect([status, err]).toEqual([0, ''])
      return out.split('\n').filter((line) => line.includes(word))
    }
    expect((await dumped()).length).toBeGreaterThan(10)
    for (const id of [ids.recorded, ids.observed])
      expect(await server.call('eraseDecision', { id, ...ground }, 'root')).toMatchObject({ erased: true, pending: [] })
    expect(await dumped()).toEqual([])
    expect(holding(server.dir, word)).toEqual([])
    await close()
  })

/** Holds a transaction of another process open: of a writer, nobody else commits; of a reader, what is in the log of the database stays there. */
function hold(dir: string, begin: string): () => void {
  const db = new Database(join(dir, 'cstp.db'))
  db.run(begin)
  db.query('select count(*) from decisions').get()
  return () => db.close()
}

test('killed before an erasure begins, after it is committed, and once it is answered: it is whole each time', async () => {
  const dir = await temporaryDir('cstp-erasure-killed-', disk)
  const doctor = async () => (await cstp(['doctor'], bareEnv(dir))).out
  const record = async (server: RunningServer) =>
    (
      await server.call('recordDecision', {
        decision: `Remember ${word} in every file`,
        confidence: 0.5,
        category: 'architecture',
        context: `${word} `.repeat(2_000),
      })
    ).decision_id as string
  const isUnfinished = async () => {
    const db = new Database(join(dir, 'cstp.db'), { readonly: true })
    const { n } = db
      .query<{ n: number }, []>(`select count(*) as n from keyed_records where collection = 'erasure_unfinished'`)
      .get()!
    db.close()
    return n === 1
  }
  const erase = (server: RunningServer, id: string) =>
    server.call('eraseDecision', { id, ...ground }).then(
      () => 'answered',
      () => 'no answer',
    )

  const first = await startServer({ dir })
  const id = await record(first)
  let release = hold(dir, 'begin immediate')
  let answer = erase(first, id)
  await Bun.sleep(200)
  await first.kill('SIGKILL')
  release()
  expect([await answer, await isUnfinished()]).toEqual(['no answer', false])

  const second = await startServer({ dir })
  expect(await second.call('getDecision', { id })).toMatchObject({ id })
  release = hold(dir, 'begin')
  answer = erase(second, id)
  await until('it is committed', isUnfinished)
  await second.kill('SIGKILL')
  // The last one who closes the database empties its log.
  expect([await answer, await isUnfinished(), holding(dir, word).length > 0]).toEqual(['no answer', true, true])
  release()
  expect(await doctor()).toContain('1 erasures are not finished')

  const third = await startServer({ dir })
  await until('the next start finishes it', async () => holding(dir, word).length === 0 && !(await isUnfinished()))
  expect((await third.rpc('getDecision', { id })).error?.data).toMatchObject({ erased: { basis: ground.basis } })
  const other = await record(third)
  expect(await erase(third, other)).toBe('answered')
  await third.kill('SIGKILL')
  expect([await isUnfinished(), holding(dir, word)]).toEqual([false, []])
  expect(await doctor()).not.toContain('erasures are not finished')
  await rm(dir, { recursive: true })
})

test('the doctor finds an erasure that is not finished, and the next start finishes it', async () => {
  const dir = await temporaryDir('cstp-erasure-owed-')
  const first = await startServer({ dir })
  const { decision_id: id } = await first.call('recordDecision', {
    decision: `Remember ${word} in every file`,
    confidence: 0.5,
    category: 'architecture',
  })
  const file = (await first.call('getDecision', { id })) && holding(join(dir, 'decisions'), word)[0]!
  const text = readFileSync(file)
  await first.call('eraseDecision', { id, ...ground })
  await first.kill()
  // As if the process had died between its commit and what follows.
  writeFileSync(file, text)
  const db = new Database(join(dir, 'cstp.db'))
  db.run(`insert into pending_files select num, -1 from decisions where id = '${id}'`)
  db.run(
    `insert into keyed_records (collection, key, version, value) values ('erasure_unfinished', 'r', 1, '{"ids":["${id}"]}')`,
  )
  db.close()
  expect((await cstp(['doctor'], bareEnv(dir))).out).toContain('1 erasures are not finished')
  const next = await startServer({ dir })
  expect(existsSync(file)).toBe(false)
  await until('it is finished', async () => !(await cstp(['doctor'], bareEnv(dir))).out.includes('not finished'))
  // Put back by hand, it is reported and not taken in.
  writeFileSync(file, text)
  await next.call('reindex', {})
  expect((await next.rpc('getDecision', { id })).error?.data).toMatchObject({ erased: { basis: ground.basis } })
  expect((await cstp(['doctor'], bareEnv(dir))).out).toContain('is of a decision that was erased')
  await next.kill()
  await rm(dir, { recursive: true })
})

test('killed at any moment while others work, an erasure is finished by a later start, and nothing else is lost', async () => {
  const dir = await temporaryDir('cstp-erasure-kills-', disk)
  let server = await startServer({ dir })
  const kept = new Set<string>()
  let written = 0
  const note = async (about: string) => {
    const fields = { confidence: 0.5, category: 'architecture', context: `${about} ${written} `.repeat(300) }
    return (await server.call('recordDecision', { decision: `${about} number ${written++}`, ...fields }))
      .decision_id as string
  }
  /** Works until its server is killed. */
  const work = async () => {
    for (;;) kept.add(await note('Keep this'))
  }
  const unfinished = () => {
    const db = new Database(join(dir, 'cstp.db'), { readonly: true })
    const rows = db.query("select key from keyed_records where collection = 'erasure_unfinished'").all()
    db.close()
    return rows.length
  }
  for (let round = 0; round < 4; round++) {
    const ids = [await note(`Forget ${word}`), await note(`Forget ${word}`)]
    for (const id of ids)
      await server.call('updateDecision', { id, updates: { context: `${word} again `.repeat(900) } })
    const working = [work(), work(), work()].map((one) => one.catch(() => {}))
    const erasing = ids.map((id) => server.call('eraseDecision', { id, ...ground }).catch(() => {}))
    await Bun.sleep(40 + 90 * round)
    await server.kill('SIGKILL')
    await Promise.all([...working, ...erasing])
    server = await startServer({ dir })
    for (const id of ids) await server.call('eraseDecision', { id, ...ground })
    await until('it is finished', async () => unfinished() === 0)
    expect(holding(dir, word)).toEqual([])
  }
  for (const id of kept) expect(await server.call('getDecision', { id })).toMatchObject({ id })
  await server.kill()
  const db = new Database(join(dir, 'cstp.db'))
  expect(db.query('PRAGMA integrity_check').values()).toEqual([['ok']])
  db.close()
  await rm(dir, { recursive: true })
})
