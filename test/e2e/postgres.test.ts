/** The program on PostgreSQL: what it refuses to start without, what it never shows, and what its commands say about a store without a folder. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { generateKeyPairSync } from 'node:crypto'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createClient } from '../../sdk/client.ts'
import { createAll, recordOf, suiteOptions } from '../../sdk/storage/conformance/store/records.ts'
import { openPostgresStore } from '../../src/drivers/store/postgres/driver.ts'
import { openSqliteStore } from '../../src/drivers/store/sqlite/driver.ts'
import { freshSchema, type Postgres, postgres, whyNoPostgres } from '../support/postgres.ts'
import { bareEnv, cstp, everyScope, startServer } from '../support/process.ts'

setDefaultTimeout(120_000)

const server = postgres()
if (server === null) test.skip(`the program on PostgreSQL (${whyNoPostgres})`, () => {})
else describe('the program on PostgreSQL', () => suite(server))

/** Every file below a folder by its path. */
const filesOf = (folder: string): Record<string, string> =>
  Object.fromEntries(
    readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map(({ parentPath, name }) => join(parentPath, name))
      .sort()
      .map((path) => [path.slice(folder.length), readFileSync(path, 'utf8')]),
  )

function suite(database: Postgres): void {
  let home: string
  let key: string
  beforeAll(() => {
    home = mkdtempSync(join(tmpdir(), 'cstp-pg-e2e-'))
    key = join(home, 'evidence.pem')
    const pem = generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' })
    writeFileSync(key, pem, { mode: 0o600 })
  })
  afterAll(() => rmSync(home, { recursive: true, force: true }))

  const envOf = (url: string, more: Record<string, string> = {}) =>
    bareEnv(mkdtempSync(join(home, 'data-')), {
      CSTP_STORE_URL: url,
      CSTP_AUTH_TOKENS: 'local:s3cret-t0ken-of-the-test,bob:b0b-t0ken-of-the-test',
      ...everyScope('local'),
      CSTP_EVIDENCE_KEY: key,
      ...more,
    })

  test('does not start without what its servers must have alike, and names it', async () => {
    const { CSTP_AUTH_TOKENS: _, CSTP_EVIDENCE_KEY: __, ...bare } = envOf(freshSchema(database))
    const { status, err } = await cstp(['serve', '--port', '0'], { ...bare, PROVENANCE_DB: '/tmp/x.db' })
    expect(status).not.toBe(0)
    for (const name of ['CSTP_AUTH_TOKENS: required with', 'CSTP_EVIDENCE_KEY: required with', 'PROVENANCE_DB: with'])
      expect(err).toContain(name)
  })

  test('never shows a password', async () => {
    const password = 'h0rse/b@ttery'
    const url = `postgres://user:${encodeURIComponent(password)}@127.0.0.1:1/nowhere`
    const env = envOf(url, { PROVENANCE_DB: url })
    const bad = envOf(`postgres://user:${password}@`)
    const runs = [
      cstp(['config'], env),
      cstp(['config', '--json'], env),
      cstp(['config'], bad),
      cstp(['serve', '--port', '0'], env),
      cstp(['export', '--local'], env),
      cstp(['doctor'], env),
    ]
    for (const { out, err } of await Promise.all(runs)) {
      expect(out + err).not.toBe('')
      for (const secret of [password, encodeURIComponent(password), 'h0rse']) expect(out + err).not.toContain(secret)
    }
    expect(JSON.parse((await runs[1]!).out).store_url.value).toBe('postgres://****@127.0.0.1:1/nowhere')
    expect((await runs[3]!).err).toContain('postgres: cannot connect')
  })

  test('keeps decisions and evidence in the database, seen by every server', async () => {
    const url = freshSchema(database)
    const start = () => {
      const env = envOf(url)
      return startServer({ dir: env.CSTP_DATA_DIR!, env })
    }
    const [a, b] = await Promise.all([start(), start()])
    const one = { decision: 'Use PostgreSQL for many servers', confidence: 0.8, category: 'architecture' }
    const { decision_id, path } = await a.call('recordDecision', one)
    // Decisions are in the database, not in files.
    expect(path).toBeUndefined()
    expect(await b.call('getDecision', { id: decision_id })).toMatchObject(one)
    expect(await b.call('queryDecisions', { query: 'postgresql servers' })).toMatchObject({ total: 1 })
    const event = { event_type: 'ci_completed', ts: '2026-07-01T10:00:00Z', payload: { n: 1 } }
    await a.call('ingestEvidence', { source: 'ci', events: [event] })
    await b.call('ingestEvidence', { source: 'ci', events: [event] })
    expect(await a.call('verifyEvidenceChain', {})).toMatchObject({ intact: true, records: 2 })
    expect(await a.call('reindex', { decisions_path: 'decisions/2026' })).toMatchObject({ success: true })
    const refused = await a.rpc('reindex', { decisions_path: '/etc' })
    expect(refused.error?.message).toContain('the decisions are in PostgreSQL')
    const { out, status } = await cstp(['doctor', '--json'], envOf(url))
    const { findings } = JSON.parse(out) as { findings: { severity: string; what: string }[] }
    const known = findings.filter(({ what }) => !/embedder hash|(?:fsync|full_page_writes) = off/.test(what))
    const warned = known.filter(({ severity }) => severity !== 'note').map(({ severity, what }) => [severity, what])
    // The tests' own token holds every scope.
    const vouches = 'agent local may write and has admin, evidence, approve: it could vouch for its own decisions'
    expect([status, warned]).toEqual([1, [['warning', vouches]]])
    await Promise.all([a.kill(), b.kill()])
    expect(readdirSync(a.dir).filter((name) => name.endsWith('.db') || name === 'decisions')).toEqual([])
  })

  test('leaves backups to the tools of the database', async () => {
    const url = freshSchema(database)
    const env = envOf(url)
    expect(await cstp(['backup', join(home, 'copy')], env)).toMatchObject({
      status: 1,
      err: expect.stringContaining('pg_dump'),
    })
    const { CSTP_STORE_URL: _, ...rest } = env
    const embedded = { ...rest, PROVENANCE_DB: url }
    expect((await cstp(['backup', join(home, 'copy')], embedded)).err).toContain('the evidence is in PostgreSQL')
  })

  test('two servers that restart in turn under load lose nothing, repeat nothing, and no client sees an error', async () => {
    const url = freshSchema(database)
    const start = (port?: number) => {
      const env = envOf(url)
      return startServer({ dir: env.CSTP_DATA_DIR!, env, ...(port && { port }) })
    }
    const servers = await Promise.all([start(), start()])
    let failed = 0
    const [agent, token] = ['local', 's3cret-t0ken-of-the-test']
    // As behind a load balancer, each attempt of a client goes to the next server.
    const open = (at: number) => {
      const next = async (address: string, init: RequestInit) => {
        const { pathname } = new URL(address)
        const response = await fetch(`${servers[at++ % 2]!.url}${pathname}`, init).catch(() => null)
        if (response === null || response.status === 503) failed++
        return response ?? new Response(null, { status: 502 })
      }
      return createClient({ url: 'http://balancer.test', agent, token, fetch: next, timeoutMs: 60_000 })
    }
    const ids = new Set<string>()
    let made = 0
    let isOver = false
    const work = async (name: number) => {
      const client = open(name)
      while (!isOver) {
        const decision = `Choice ${made++} of client ${name}`
        const call = { decision, confidence: 0.7, category: 'process', idempotency_key: decision }
        ids.add((await client.recordDecision(call)).decision_id)
      }
    }
    const clients = [0, 1, 2, 3].map(work)
    for (const [at, server] of servers.entries()) {
      expect(await server.kill()).toBe(0)
      servers[at] = await start(Number(new URL(server.url).port))
    }
    isOver = true
    await Promise.all(clients)
    expect([ids.size, failed > 0]).toEqual([made, true])
    const client = open(0)
    const { total } = await client.listDecisions({ limit: 1 })
    const { entries } = await client.listAudit({ method: 'cstp.recordDecision', limit: 500 })
    expect([total, Math.min(made, 500)]).toEqual([made, new Set(entries.flatMap(({ ids }) => ids)).size])
    await Promise.all(servers.map((one) => one.kill()))
  })

  test('a look with doctor makes nothing', async () => {
    const url = freshSchema(database)
    expect((await cstp(['doctor'], envOf(url))).out).toContain('no tables of cstp yet')
    expect((await cstp(['doctor'], envOf(url))).out).toContain('no tables of cstp yet')
  })

  test('exports the files that the embedded store holds, byte by byte', async () => {
    const url = freshSchema(database)
    const dir = join(home, 'embedded')
    const records = Array.from({ length: 40 }, (_, index) => ({
      ...recordOf(index + 1),
      context: `Zoë says "no\u2028yes"\n\ttwice: ${'€'.repeat(index)}`,
    }))
    for (const store of [
      await openSqliteStore({ ...suiteOptions, dir }),
      await openPostgresStore({ ...suiteOptions, url }),
    ]) {
      await createAll(store, records)
      await store.close()
    }
    const out = join(home, 'exported')
    const { status, err } = await cstp(['export', '--local', '--yaml', out], envOf(url))
    expect([status, err]).toEqual([0, ''])
    const files = filesOf(join(out, 'decisions'))
    expect(Object.keys(files)).toHaveLength(40)
    expect(files).toEqual(filesOf(join(dir, 'decisions')))
  })
}
