/** A server whose network to the database swallows packets: it says so, keeps nothing by halves, and serves again by itself. */
import { expect, setDefaultTimeout, test } from 'bun:test'
import { generateKeyPairSync } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { SQL } from 'bun'
import { type Network, network } from '../support/network.ts'
import { freshSchema, type Postgres, postgres, whyNoPostgres } from '../support/postgres.ts'
import { inTemporaryDir, type RunningServer, startServer, until } from '../support/process.ts'

setDefaultTimeout(120_000)
const rounds = process.env.CSTP_SOAK === '1' ? 3 : 1

const database = postgres()
const title = 'calls end while the network is silent, and work when it is back'
if (database === null) test.skip(`${title} (${whyNoPostgres})`, () => {})
else test(title, () => inTemporaryDir((dir) => run(dir, database)))

async function run(dir: string, { url: direct }: Postgres): Promise<void> {
  const key = join(dir, 'evidence.pem')
  const pem = generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' })
  writeFileSync(key, pem, { mode: 0o600 })
  const own = new URL(freshSchema({ url: direct, kill() {}, restart() {} }))
  const schema = own.searchParams.get('schema')
  own.password = 'h0rse'
  own.searchParams.set('statement_timeout_ms', '1000')
  const net = await network(own.toString())
  const running = await startServer({
    dir,
    env: {
      CSTP_STORE_URL: net.url,
      CSTP_AUTH_TOKENS: 'local:t0ken-of-the-test',
      CSTP_EVIDENCE_KEY: key,
      // Leases are asked of the database too.
      CSTP_RATE_LIMIT: '6000',
    },
  })
  try {
    for (let round = 0; round < rounds; round++) await outage(running, net, `round ${round}`)
    net.reset()
    expect(await running.call('listDecisions', { limit: 1 })).toMatchObject({ total: 4 * rounds })
    expect(await running.call('verifyEvidenceChain', {})).toMatchObject({ intact: true })
    // Nothing is left behind inside of a transaction, and no lock with it.
    const sql = new SQL(direct, { max: 1 })
    await until('the server has ended what was given up', async () => {
      const [row] = await sql.unsafe(
        `select count(*)::int as held from pg_locks l join pg_stat_activity a using (pid)
         where l.locktype = 'advisory' and a.application_name = 'cstp' and a.query like $1`,
        [`%${schema}%`],
      )
      return row.held === 0
    })
    await sql.close()
    expect(await running.kill()).toBe(0)
    const log = await running.log()
    for (const secret of ['h0rse', 't0ken']) expect(log).not.toContain(secret)
  } finally {
    running.process.kill('SIGKILL')
    await net.close()
  }
}

/** Some of each kind of call before, while and after nothing arrives. */
async function outage(running: RunningServer, net: Network, name: string): Promise<void> {
  const ready = async () => (await fetch(`${running.url}/ready`)).status
  const record = (decision: string) => ({
    decision,
    confidence: 0.8,
    category: 'architecture',
    idempotency_key: decision,
  })
  const event = { event_type: 'ci_completed', ts: '2026-07-01T10:00:00Z', payload: { name } }
  const before = await running.call('recordDecision', record(`${name}, before`))
  net.swallow()
  const calls: [string, object][] = [
    ['getDecision', { id: before.decision_id }],
    ['recordDecision', record(`${name}, meanwhile`)],
    ['recordDecision', record(`${name}, meanwhile too`)],
    ['queryDecisions', { query: 'meanwhile', retrieval_mode: 'hybrid' }],
    ['recordThought', { text: name }],
    ['ingestEvidence', { source: 'ci', events: [event] }],
    ['getCircuitState', { scope: 'category:deployment' }],
  ]
  for (const { error } of await Promise.all(calls.map(([method, params]) => running.rpc(method, params)))) {
    expect(error).toMatchObject({ code: -32010, data: { request_id: expect.any(String), retry_after_ms: 1_000 } })
    expect(JSON.stringify(error)).not.toMatch(/postgres|connection|answer/i)
  }
  await until('/ready tells', async () => (await ready()) === 503)
  expect((await fetch(`${running.url}/health`)).status).toBe(200)
  net.restore()
  await until('/ready tells', async () => (await ready()) === 200)
  // Each in the end, once.
  for (const when of ['meanwhile', 'meanwhile too', 'after']) {
    const { decision_id } = await running.call('recordDecision', record(`${name}, ${when}`))
    expect(await running.call('getDecision', { id: decision_id })).toMatchObject({ decision: `${name}, ${when}` })
  }
  for (const [method, params] of calls) if (method !== 'recordDecision') await running.call(method, params)
}
