/** The log as static files over HTTP: complete, verifiable by a reader of tlog-tiles, cached as they may be, and never ahead of what was signed. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { staticLog } from '../../../src/domain/ledger/thread/receipts.ts'
import { logRoutes } from '../../../src/surfaces/http/ledger.ts'
import { createRateLimiter } from '../../../src/surfaces/http/limits.ts'
import { verifyLog } from '../../../src/verify/log.ts'
import { readNote } from '../../../src/verify/note.ts'
import { readPolicy } from '../../../src/verify/policy.ts'
import { appendActs } from '../../support/evidence/acts.ts'
import { openMemoryProgram, type TestProgram } from '../../support/program.ts'
import { serviceOf } from './service.ts'

let program: TestProgram
let get: (path: string, init?: RequestInit) => Promise<Response>
beforeAll(async () => {
  program = await openMemoryProgram()
  const { store, thread, publisher } = program.services
  const reads = createRateLimiter({ per_minute: 0, burst: 0, now: Date.now })
  const routes = logRoutes(staticLog(store.thread, thread, publisher), { reads, trust_proxy: 0 })
  const service = serviceOf({ routes })
  get = async (path, init) => service.fetch(new Request(`http://cstp.test${path}`, init), '127.0.0.1')
})
afterAll(() => program.close())

const checkpoint = async () => readNote(await (await get('/log/checkpoint')).text())
const policy = () => readPolicy(`log ${program.services.thread.signer.verifier_key}\nquorum none\n`)
const verify = () =>
  verifyLog(async (path) => {
    const response = await get(`/log/${path}`)
    return response.ok ? response.bytes() : null
  }, policy())

test('a reader of tiles verifies all of it, at every size', async () => {
  let size = 0
  for (const more of [0, 1, 254, 1, 1, 300]) {
    await appendActs(program.store, size, more)
    size += more
    // Readers share a look at the log for a second.
    program.clock.now += 2_000
    expect(await verify()).toMatchObject({
      verified: true,
      findings: [],
      log: { size, origin: 'cstp.test/log/thread' },
    })
  }
  const response = await get('/.well-known/cstp-log-key')
  expect(await response.text()).toBe(`${program.services.thread.signer.verifier_key}\n`)
})

test('what never changes is cached for ever, the checkpoint is not', async () => {
  const { size } = await checkpoint()
  const cache = async (path: string) => (await get(path)).headers.get('cache-control')
  expect(await cache('/log/checkpoint')).toBe('no-cache')
  for (const path of ['tile/0/000', `tile/0/002.p/${size % 256}`, 'tile/entries/001', 'tile/1/000.p/2'])
    expect([path, await cache(`/log/${path}`)]).toEqual([path, 'public, max-age=31536000, immutable'])
  const response = await get('/log/tile/0/000')
  expect(response.headers.get('content-type')).toBe('application/octet-stream')
  expect((await response.bytes()).length).toBe(8_192)
  expect((await get('/log/tile/0/000', { method: 'HEAD' })).status).toBe(200)
  expect((await get('/log/tile/0/000', { method: 'POST' })).status).toBe(405)
})

test('there is nothing that no checkpoint covers, and no other spelling of a path', async () => {
  const { size } = await checkpoint()
  await appendActs(program.store, size, 3)
  await program.services.thread.sequence()
  // A partial tile of a smaller tree is still there; one of the acts that were not signed yet is not.
  expect((await get(`/log/tile/0/002.p/${(size % 256) - 1}`)).status).toBe(200)
  expect((await get(`/log/tile/0/002.p/${(size % 256) + 1}`)).status).toBe(404)
  program.clock.now += 2_000
  expect((await get(`/log/tile/0/002.p/${(size % 256) + 1}`)).status).toBe(200)
  for (const path of [
    'tile/0/003',
    'tile/0/002',
    'tile/2/000.p/1',
    'tile/0/0',
    'tile/0/000.p/256',
    'tile/',
    'tile/entries/004',
  ])
    expect([path, (await get(`/log/${path}`)).status]).toEqual([path, 404])
})

test('a log that lost its end says that it is damaged', async () => {
  const { thread } = program.store
  const broken = { ...thread, nodes: async () => [], hashes: async () => [] }
  const { services } = program
  const routes = logRoutes(staticLog(broken, services.thread, services.publisher), {
    reads: createRateLimiter({ per_minute: 0, burst: 0, now: Date.now }),
    trust_proxy: 0,
  })
  const response = await serviceOf({ routes }).fetch(new Request('http://cstp.test/log/tile/0/000'), '127.0.0.1')
  expect([response.status, (await response.json()).error]).toEqual([500, 'log_damaged'])
})
