/** The compiled program, in an empty folder, with an environment that knows nothing of Bun, Node or this repository. */
import { afterAll, afterEach, beforeAll, beforeEach, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { ownKeyPath } from '../../src/app/evidence.ts'
import { build } from '../../src/build/main.ts'
import { makePackages } from '../../src/build/npm.ts'
import { toolNames } from '../../src/calls/method.ts'
import { ownKey } from '../../src/core/key-file.ts'
import { version } from '../../src/core/version.ts'
import { pieceSize } from '../../src/domain/ledger/engine/walk.ts'
import { appendEvents } from '../../src/domain/ledger/evidence/chain.ts'
import { openSqliteEvidence } from '../../src/drivers/evidence/sqlite/driver.ts'
import {
  built,
  run as command,
  type Ended,
  cstp as run,
  type Service,
  serve as start,
  type Way,
} from '../support/process.ts'
import { overProgram, use } from '../surfaces/mcp/peers.ts'

setDefaultTimeout(120_000)

let dir: string
let way: Way
const services: Service[] = []

let program: string
let own: string | null = null
beforeAll(async () => {
  if (built === null) own = await mkdtemp(join(tmpdir(), 'cstp-built-'))
  program = built ?? (await build({ outfile: join(own!, 'cstp') }))
})
afterAll(async () => {
  if (own !== null) await rm(own, { recursive: true, force: true })
})
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'cstp-binary-'))
  for (const folder of ['work', 'home', 'temp']) await mkdir(join(dir, folder))
  way = { command: [program], cwd: join(dir, 'work') }
})
afterEach(async () => {
  for (const service of services.splice(0)) await service.stop('SIGKILL')
  await rm(dir, { recursive: true, force: true })
})

/** What an empty environment lacks is given: where the data and the temporary files lie. */
const env = (more: Record<string, string> = {}) => ({
  PATH: '',
  HOME: join(dir, 'home'),
  TMPDIR: join(dir, 'temp'),
  ...more,
})
const cstp = (args: string[], more: Record<string, string> = {}, input?: string): Promise<Ended> =>
  run(args, env(more), input, way)
async function serve(more: Record<string, string> = {}, args: string[] = []): Promise<Service> {
  const service = await start(env(more), args, way)
  services.push(service)
  return service
}
const decision = (text: string) =>
  JSON.stringify({ decision: text, confidence: 0.8, category: 'architecture', stakes: 'high' })

test('serves, records, finds by meaning and stops, and leaves nothing but its data', async () => {
  const service = await serve()
  const { status, version: served } = (await (await fetch(`${service.url}/health`)).json()) as Record<string, string>
  expect(status).toBe('ok')
  expect((await cstp(['--version'])).out).toBe(`${served}\n`)
  expect((await cstp(['licenses'])).out).toContain('\nonnxruntime-node ')
  expect(served).toBe(version)
  const page = await (await fetch(`${service.url}/dashboard/`)).text()
  const [, script] = /<script type="module" src="([^"]+)"/.exec(page) ?? []
  expect((await fetch(`${service.url}${script}`)).headers.get('content-type')).toContain('text/javascript')

  const at = ['--url', service.url]
  const made = await cstp(['call', 'recordDecision', '-', ...at], {}, decision('Use PostgreSQL for the order store'))
  expect(made.err).toBe('')
  expect(JSON.parse(made.out)).toMatchObject({ success: true, indexed: true })
  await cstp(['call', 'recordDecision', decision('Write the handbook in English'), ...at])
  const asked = { query: 'which relational database keeps our purchases?', limit: 1 }
  const found = JSON.parse((await cstp(['call', 'queryDecisions', JSON.stringify(asked), ...at])).out)
  expect(found.decisions).toMatchObject([{ title: 'Use PostgreSQL for the order store' }])
  expect(found.decisions[0].distance).toBeLessThan(0.78)
  expect((await cstp(['query', 'handbook', ...at])).out).toContain('Write the handbook in English')

  const ended = await service.stop()
  expect(ended.status).toBe(0)
  expect(ended.err).toContain('"runtime":"native"')
  // No library unpacked for good, no telemetry of one, and nothing where it was started.
  expect(await readdir(join(dir, 'home'))).toEqual(['.cstp'])
  expect(await readdir(join(dir, 'temp'))).toEqual([])
  expect(await readdir(join(dir, 'work'))).toEqual([])
})

test('serves an MCP client over stdin and stdout', async () => {
  const given = {
    command: program,
    args: ['mcp', '--agent', 'planner'],
    env: env(),
    cwd: join(dir, 'work'),
  }
  const peer = await overProgram('v2', given)
  try {
    expect(peer.getServerVersion()).toMatchObject({ version })
    expect((await peer.listTools()).tools.map(({ name }) => name)).toEqual([...toolNames])
    const { decision_id: id } = await use(peer, 'pre_action', { description: 'Use PostgreSQL', confidence: 0.8 })
    expect(await use(peer, 'get_decision', { id })).toMatchObject({ recorded_by: 'planner' })
    const { decisions } = await use(peer, 'query_decisions', { query: 'which relational database?' })
    expect(decisions).toMatchObject([{ id }])
  } finally {
    await peer.close()
  }
  expect(await readdir(join(dir, 'temp'))).toEqual([])
  expect(await readdir(join(dir, 'work'))).toEqual([])
})

test('makes evidence and verifies it with nothing but the file', async () => {
  const data = { CSTP_EMBEDDER: 'hash', CSTP_EVIDENCE_AGENTS: 'local' }
  const service = await serve(data)
  const at = ['--url', service.url]
  const event = { event_type: 'pr_opened', ts: '2026-07-01T00:00:00Z', payload: { pr_number: 7 } }
  const ingested = await cstp(['call', 'ingestEvidence', JSON.stringify({ source: 'ci', events: [event] }), ...at])
  expect(JSON.parse(ingested.out)).toMatchObject({ ingested: 1 })
  const made = await cstp(['call', 'exportEvidenceBundle', '{"format":"both"}', ...at])
  expect(made.err).toBe('')
  const { json_path, pdf_path } = JSON.parse(made.out) as { json_path: string; pdf_path: string }
  expect((await readFile(pdf_path, 'latin1')).slice(0, 5)).toBe('%PDF-')
  const receipt = await cstp(['call', 'getReceipt', '{"record_id":"evidence/1"}', ...at])
  const key = (await cstp(['log', 'key', ...at])).out.trim()
  expect((await service.stop()).status).toBe(0)
  const text = await readFile(json_path, 'utf8')
  await rm(join(dir, 'home'), { recursive: true })
  await writeFile(join(dir, 'evidence.json'), text)
  await writeFile(join(dir, 'changed.json'), text.replace('"pr_number":7', '"pr_number":8'))
  await writeFile(join(dir, 'receipt.json'), receipt.out)
  expect(await cstp(['verify', join(dir, 'receipt.json'), '--key', key])).toMatchObject({
    status: 0,
    out: expect.stringContaining('evidence evidence/1'),
  })
  expect(await cstp(['verify', join(dir, 'evidence.json')])).toMatchObject({
    status: 0,
    err: '',
    out: expect.stringContaining('evidence.json is valid'),
  })
  expect(await cstp(['verify', join(dir, 'changed.json')])).toMatchObject({
    status: 1,
    out: expect.stringContaining('is NOT valid'),
  })
  // It neither needs nor makes a data directory.
  expect((await readdir(dir)).sort()).toEqual(['changed.json', 'evidence.json', 'receipt.json', 'temp', 'work'])
})

test('moves decisions without a server', async () => {
  const lines = ['one', 'two'].map((text) => `${decision(`Decision ${text}`)}\n`).join('')
  await writeFile(join(dir, 'in.jsonl'), lines)
  const data = ['--local', '--embedder', 'hash']
  expect(await cstp(['import', join(dir, 'in.jsonl'), ...data])).toMatchObject({ status: 0 })
  const { status, out } = await cstp(['export', ...data])
  expect(status).toBe(0)
  expect(out.split('\n').filter(Boolean)).toHaveLength(2)
  expect(await readdir(join(dir, 'temp'))).toEqual([])
})

test('explains itself, its settings and its rules', async () => {
  expect((await cstp(['--help'])).out).toContain('usage: cstp <command>')
  expect((await cstp(['help', 'serve'])).out).toContain('usage: cstp serve')
  expect((await cstp(['config', '--port', '1234'])).out).toMatch(/CSTP_PORT +1234 +flag --port/)
  const tested = await cstp(['guardrails', 'test'])
  expect(tested).toMatchObject({ status: 0, out: expect.stringMatching(/^(\d+) of \1 cases pass/) })
})

test('verifies long evidence in threads of its own', async () => {
  await ownKey(ownKeyPath(join(dir, 'home/.cstp')), 'the evidence key')
  const log = await openSqliteEvidence(join(dir, 'provenance.db'))
  const event = {
    ts: '2026-07-01T00:00:00Z',
    source: 'ci',
    event_type: 'pr_opened',
    evidence_class: 'observed',
  } as const
  // As many as make the threads worth their start.
  const events = Array.from({ length: 4 * pieceSize }, (_, n) => ({ ...event, payload: `{"pr_number":${n}}` }))
  await appendEvents(log, events)
  await log.close()
  const service = await serve({ CSTP_EMBEDDER: 'hash', PROVENANCE_DB: join(dir, 'provenance.db') })
  const { out } = await cstp(['call', 'verifyEvidenceChain', '--url', service.url])
  expect(JSON.parse(out)).toMatchObject({ intact: true })
  const ended = await service.stop()
  expect(ended.err).toContain('"method":"cstp.verifyEvidenceChain"')
  expect(ended.err).not.toContain('a worker thread that verifies evidence failed')
})

test('is not changed by the folder that it is started in', async () => {
  const work = join(dir, 'work')
  await writeFile(join(work, '.env'), 'CSTP_PORT=7777\n')
  await writeFile(join(work, 'bunfig.toml'), 'preload = ["./preload.ts"]\n')
  await writeFile(join(work, 'preload.ts'), `console.log('preloaded')\n`)
  const { status, out } = await cstp(['config'])
  expect(status).toBe(0)
  expect(out).not.toContain('preloaded')
  expect(out).toMatch(/CSTP_PORT +9991 +default/)
})

test('is below 200 MB', async () => {
  expect((await stat(program)).size).toBeLessThan(200e6)
})

test('installed from its packages with nothing but Node, npx starts it and ends with it', async () => {
  const archives = await makePackages(join(dir, 'npm'), [], program)
  const node = dirname(Bun.which('node')!)
  const here = { cwd: join(dir, 'work'), env: { ...env(), PATH: `${node}:/usr/bin:/bin` } }
  const quiet = ['--offline', '--no-audit', '--no-fund', '--loglevel', 'error']
  expect(await command(['npm', 'install', ...quiet, ...archives], here)).toMatchObject({ status: 0 })
  expect(await command(['npx', '--offline', 'cstp', '--version'], here)).toMatchObject({
    status: 0,
    out: `${version}\n`,
  })

  way = { command: [join(dir, 'work/node_modules/.bin/cstp')], cwd: join(dir, 'work') }
  const more = { PATH: here.env.PATH }
  const service = await serve(more)
  expect((await fetch(`${service.url}/ready`)).status).toBe(200)
  expect(await service.stop()).toMatchObject({ status: 0 })
  expect((await cstp(['nonsense'], more)).status).toBe(2)

  await rm(join(dir, 'work/node_modules/@cstp'), { recursive: true })
  expect(await cstp(['--version'], more)).toMatchObject({ status: 1, err: expect.stringContaining('is not installed') })
})

test('says what it misses where no temporary file can be written', async () => {
  // A file in the place of the folder: the tests may run as a user who may write anywhere.
  await writeFile(join(dir, 'file'), '')
  const TMPDIR = join(dir, 'file')
  const service = await serve({ TMPDIR })
  const at = ['--url', service.url]
  const made = await cstp(['call', 'recordDecision', decision('Take the slower build'), ...at])
  expect(JSON.parse(made.out)).toMatchObject({ success: true })
  const ended = await service.stop()
  expect(ended.err).toContain('onnxruntime-node does not load: embedding is about ten times slower')
  expect(ended.status).toBe(0)
})
