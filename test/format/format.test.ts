/** Every version of the data format is read by this program; what a newer program wrote is refused by one sentence, and left as it was. */
import { Database } from 'bun:sqlite'
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { createHash } from 'node:crypto'
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { SQL } from 'bun'
import { completeRecord } from '../../sdk/schema/complete.ts'
import { DecisionRecord } from '../../sdk/schema/decision.ts'
import { completeJson, parseRecord, storedOf } from '../../sdk/storage/decisions.ts'
import { dataFormat } from '../../src/core/format.ts'
import { parseRecord as parseFile, recordFile } from '../../src/drivers/store/sqlite/parse.ts'
import { freshDatabase, postgres, whyNoPostgres } from '../support/postgres.ts'
import { bareEnv, cstp, everyScope, type RunningServer, startServer, temporaryDir } from '../support/process.ts'
import { expectedOf, folderOfFormat, migrationHashes } from './make.ts'

let home = ''
let copies = 0
beforeAll(async () => {
  home = await temporaryDir('cstp-format-')
})
afterAll(() => rmSync(home, { recursive: true, force: true }))

const fresh = (): string => {
  const folder = join(home, String(copies++))
  mkdirSync(folder, { mode: 0o700 })
  return folder
}
const env = (dir: string) => bareEnv(dir, { HOME: home })
/** Size and hash of each file, to show that nothing was touched. */
const stateOf = (dir: string): string[] =>
  readdirSync(dir, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !/-(?:wal|shm)$/.test(entry.name))
    .map(({ parentPath, name }) => join(parentPath, name))
    .sort()
    .map((path) => `${path} ${createHash('sha256').update(readFileSync(path)).digest('hex')}`)
const sentence = (version: number) =>
  new RegExp(`has version ${version}; this program, cstp \\S+, knows versions up to \\d+: start the newer program`)

describe.each(Array.from({ length: dataFormat }, (_, at) => at + 1))('data of format %i', (format) => {
  const folder = folderOfFormat(format)
  const expected = expectedOf(format)
  const ids = expected.decisions.map(({ id }) => String(id))
  const at = (name: string) => join(folder, name)
  const textOf = (name: string) => readFileSync(at(name), 'utf8')
  function unpack(name: string): string {
    const target = fresh()
    const tar = Bun.spawnSync(['tar', '-xz', '-C', target], { stdin: readFileSync(at(`${name}.tar.gz`)) })
    expect(tar.stderr.toString()).toBe('')
    return target
  }
  /** Starts a server on the data, and asks for everything that was written. */
  async function answers(start: () => Promise<RunningServer>): Promise<void> {
    const server = await start()
    try {
      for (const decision of expected.decisions) {
        const found = await server.call('getDecision', { id: decision.id })
        completeRecord(decision)
        expect(found).toEqual(decision)
      }
      expect(await server.call('listDecisions', {})).toMatchObject({ total: ids.length })
      const query = { query: 'retry calls of the payment provider', track: false }
      expect((await server.call('queryDecisions', query)).total).toBeGreaterThan(0)
      expect(await server.call('verifyEvidenceChain', {})).toMatchObject({ intact: true, records: expected.events })
      expect(await server.call('getDossier', { id: ids[0] })).toMatchObject({ decision: { id: ids[0] } })
      expect(await server.call('recordDecision', { decision: 'Go on', confidence: 0.5, category: 'c' })).toHaveProperty(
        'decision_id',
      )
    } finally {
      await server.kill()
    }
  }
  /** Decisions in the export of a data directory. */
  async function exported(dir: string): Promise<string[]> {
    const { status, out, err } = await cstp(['export', '--local'], env(dir))
    expect([status, err]).toEqual([0, expect.any(String)])
    return out.trim().split('\n')
  }

  test('its migrations are as they were: the next change of the tables is the next number', () => {
    expect(migrationHashes()).toMatchObject(expected.migrations)
  })

  test('laterFields names what its records lack', () => {
    for (const decision of expected.decisions) {
      const json = JSON.stringify(decision)
      expect(JSON.parse(completeJson({ json }))).toEqual(parseRecord({ json }))
    }
  })

  test('its data directory is opened, verified, answered from and exported', async () => {
    const dir = unpack('data')
    await answers(() => startServer({ dir, env: { HOME: home } }))
    expect(await exported(dir)).toHaveLength(ids.length + 1)
    const { out } = await cstp(['doctor', '--json'], env(dir))
    const { findings } = JSON.parse(out) as { findings: { severity: string }[] }
    expect(findings.filter(({ severity }) => severity === 'error')).toEqual([])
  })

  test('its decision files alone give the decisions', async () => {
    const dir = fresh()
    cpSync(at('yaml'), dir, { recursive: true })
    expect(await exported(dir)).toHaveLength(ids.length)
    const copy = fresh()
    expect(await cstp(['import', 'cstp-yaml', at('yaml'), '--local'], env(copy))).toMatchObject({ status: 0 })
    expect(await exported(copy)).toHaveLength(ids.length)
  })

  test('its backup is restored', async () => {
    const [copy, dir] = [unpack('backup'), join(fresh(), 'data')]
    expect(await cstp(['restore', copy], env(dir))).toMatchObject({ status: 0 })
    await answers(() => startServer({ dir, env: { HOME: home } }))
  })

  test('its export is imported', async () => {
    const dir = fresh()
    expect(await cstp(['import', at('decisions.jsonl'), '--local'], env(dir))).toMatchObject({ status: 0 })
    expect(await exported(dir)).toHaveLength(ids.length)
  })

  test.each(['bundle.json', 'dossier.json', 'receipts.json'])('its %s is verified', async (name) => {
    const key = name === 'receipts.json' ? expected.thread_key : expected.evidence_key
    const { status, err } = await cstp(['verify', at(name), '--key', key], env(fresh()))
    expect([status, err]).toEqual([0, ''])
  })

  const server = postgres()
  test.skipIf(server === null)(
    `its tables in PostgreSQL are opened and answered from (else: ${whyNoPostgres})`,
    async () => {
      const url = await freshDatabase(server!)
      const sql = new SQL(url, { max: 1 })
      const dump = unpack('postgres')
      await sql.unsafe(readFileSync(join(dump, 'dump.sql'), 'utf8'))
      const count = async () => (await sql`select count(*)::int as n from cstp_fixture.decisions`)[0].n
      const before = await count()
      const dir = fresh()
      const shared = {
        CSTP_STORE_URL: `${url}?schema=cstp_fixture`,
        CSTP_AUTH_TOKENS: 'local:t0ken-of-the-test',
        CSTP_EVIDENCE_KEY: join(dump, 'evidence.pem'),
      }
      const program = await startServer({ dir, env: { HOME: home, ...everyScope('local'), ...shared } })
      const { decisions, total } = await program.call('listDecisions', {})
      expect(total).toBe(before)
      const { id } = (decisions as { id: string }[])[0]!
      expect(await program.call('getDecision', { id })).toMatchObject({ id })
      expect(await program.call('verifyEvidenceChain', {})).toMatchObject({ intact: true, records: expected.events })
      await program.kill()
      await sql.unsafe('update cstp_fixture.cstp_schema set version = 99')
      const { status, err } = await cstp(['export', '--local'], bareEnv(dir, shared))
      expect([status === 0, err]).toEqual([false, expect.stringMatching(sentence(99))])
      expect(await count()).toBe(before)
      await sql.close()
    },
  )

  if (format < dataFormat) return

  describe('of a newer program', () => {
    test.each(['cstp.db', 'provenance.db'])('a data directory is refused by the version of its %s', async (name) => {
      const dir = unpack('data')
      const db = new Database(join(dir, name))
      db.run('PRAGMA user_version = 99')
      db.close()
      // The store is opened before the evidence.
      const own = () => stateOf(dir).filter((line) => name === 'cstp.db' || !line.includes('/cstp.db '))
      const before = own()
      const { status, err } = await cstp(['export', '--local'], env(dir))
      expect([status === 0, err]).toEqual([false, expect.stringMatching(sentence(99))])
      expect(own()).toEqual(before)
    })

    test('a decision file is a finding, and neither broken nor deleted', async () => {
      const dir = unpack('data')
      const name = readdirSync(join(dir, 'decisions'), { recursive: true, encoding: 'utf8' }).find((one) =>
        one.endsWith('.yaml'),
      )!
      const path = join(dir, 'decisions', name)
      const text = readFileSync(path, 'utf8').replace(`format: ${format}\n`, 'format: 2\nweather: "fine"\n')
      writeFileSync(path, text)
      const program = await startServer({ dir, env: { HOME: home } })
      const { findings } = await program.call('reindex', {})
      expect(findings).toEqual([{ path: name, kind: 'newer', message: expect.stringMatching(sentence(2)) }])
      expect(readFileSync(path, 'utf8')).toBe(text)
      const id = name.slice(name.lastIndexOf('/') + 1, -'.yaml'.length)
      await program.call('updateDecision', { id, updates: { tags: ['changed'] } })
      await program.kill()
      expect(readFileSync(`${path}.newer`, 'utf8')).toBe(text)
      const { out } = await cstp(['import', 'cstp-yaml', join(dir, 'decisions'), '--local', '--dry-run'], env(fresh()))
      expect(out).not.toContain('broken')
    })

    test('a backup is refused', async () => {
      const [copy, dir] = [unpack('backup'), join(fresh(), 'data')]
      const path = join(copy, 'cstp-backup.json')
      writeFileSync(path, JSON.stringify({ ...JSON.parse(readFileSync(path, 'utf8')), format: 2 }))
      const before = stateOf(copy)
      const { status, err } = await cstp(['restore', copy], env(dir))
      expect([status === 0, err]).toEqual([false, expect.stringMatching(sentence(2))])
      expect([stateOf(copy), existsSync(dir)]).toEqual([before, false])
    })

    test.each([
      ['bundle.json', '"bundle_format":1', '"bundle_format":2'],
      ['dossier.json', '"dossier_format":1', '"dossier_format":2'],
      ['receipts.json', '"receipt_format":1', '"receipt_format":2'],
    ])('the only finding on a %s is the sentence', async (name, from, to) => {
      const path = join(fresh(), name)
      writeFileSync(path, textOf(name).replace(from, to))
      const key = name === 'receipts.json' ? expected.thread_key : expected.evidence_key
      const { status, out } = await cstp(['verify', path, '--key', key, '--json'], env(fresh()))
      const { findings } = JSON.parse(out) as { findings: { message: string }[] }
      expect([status, findings.map(({ message }) => message)]).toEqual([1, [expect.stringMatching(sentence(2))]])
    })

    test('a line of an export is refused', async () => {
      const lines = textOf('decisions.jsonl')
        .replaceAll('"format":1', '"format":2')
        .replaceAll('"source"', '"weather":1,"source"')
      const { status, err } = await cstp(['import', '-', '--local', '--dry-run'], env(fresh()), lines)
      expect([status, err]).toEqual([1, expect.stringMatching(sentence(2))])
    })
  })
})

describe('a record that an earlier version wrote without a field', () => {
  const [whole] = expectedOf(1).decisions as unknown as [DecisionRecord]
  /** Required in every version; all others have a default. */
  const required =
    'id title decision stakes status date review_in review_by bridge bridge_method quality recorded_by created_at updated_at revision_count'.split(
      ' ',
    )
  const others = Object.keys(DecisionRecord.entries).filter((name) => !required.includes(name))

  test.each(others)('%s: file and document have its default', (name) => {
    const { [name as 'tags']: had, ...rest } = whole
    const json = JSON.stringify(rest)
    const record = parseRecord({ json })
    expect(Object.hasOwn(record, name)).toBe(Object.hasOwn(whole, name))
    expect({ ...record, [name]: had }).toEqual(whole)
    // Of a name that other parts have too, the text does not tell: no later field may have one.
    if (!json.includes(`"${name}":`)) expect(JSON.parse(completeJson({ json }, [name]))).toEqual(record)
    const text = { json, id: whole.id, agent: '', created_ms: 0, revision: 1, indexed: true }
    expect(storedOf(text).record).toEqual(record)
    expect(parseFile(Buffer.from(recordFile(rest as DecisionRecord)), whole.id)).toEqual({ record })
  })

  test.each(required)('%s: it is still required', (name) => {
    const { [name as 'id']: _, ...rest } = whole
    expect(parseFile(Buffer.from(recordFile(rest as DecisionRecord)), whole.id)).toHaveProperty('problem')
  })

  test('parts of it are completed too', () => {
    const { links, project, ...rest } = structuredClone(whole)
    const bare = { ...rest, project: { name: 'acme/shop' }, links: links.map(({ context: _, ...link }) => link) }
    const record = parseRecord({ json: JSON.stringify(bare) })
    expect(record.project).toEqual({ name: 'acme/shop', feature: null, pr: null, files: [] })
    expect(record.links.map(({ context }) => context)).toEqual(links.map(() => null))
  })

  test('an unknown key in a file of the same format is a mistake', () => {
    const file = `${recordFile(whole)}weather: "fine"\n`
    expect(parseFile(Buffer.from(file), whole.id)).toEqual({ problem: expect.stringContaining('weather') })
  })
})
