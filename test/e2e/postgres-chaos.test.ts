/**
 * Servers on one database that are killed under load, a network that swallows packets, and a restart of the database: every answer that
 * the clients got still holds. CSTP_SOAK=1 runs it long.
 */
import { expect, setDefaultTimeout, test } from 'bun:test'
import { generateKeyPairSync } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { serveOpenai } from '../support/embedder-servers.ts'
import { network } from '../support/network.ts'
import { freshSchema, type Postgres, postgres, whyNoPostgres } from '../support/postgres.ts'
import { inTemporaryDir, type RunningServer, startServer } from '../support/process.ts'
import { counted, runClient, tripped } from './chaos/client.ts'
import { lookAround } from './chaos/found.ts'
import { check, emptyHistory } from './chaos/history.ts'

setDefaultTimeout(600_000)

const soak = process.env.CSTP_SOAK === '1'
const [clients, seconds] = soak ? [32, 120] : [8, 14]
const server = postgres()
const title = `three servers, ${clients} clients: nothing that was acknowledged is lost, nothing happens twice`
const hour = 3_600_000
/** One breaker that trips and recovers all the time, and one that only counts. */
const rules = `
guardrails: [{ id: never, message: m, conditions: [{ type: field, field: context.never, operator: "=", value: true, when_missing: no_match }] }]
circuit_breakers:
  - { scope: "category:${tripped}", failure_threshold: 2, window_ms: ${hour}, cooldown_ms: 700 }
  - { scope: "category:${counted}", failure_threshold: 1000000, window_ms: ${hour}, cooldown_ms: ${hour} }
`

if (server === null || process.env.CSTP_TEST_POSTGRES)
  test.skip(`${title} (${server === null ? whyNoPostgres : 'the database is not ours to stop'})`, () => {})
else test(title, () => inTemporaryDir((dir) => run(dir, server)))

async function run(dir: string, database: Postgres): Promise<void> {
  const url = new URL(freshSchema(database))
  url.searchParams.set('statement_timeout_ms', '3000')
  const net = await network(url.toString())
  // Some texts take longer at first than a record waits for its vectors: those are left to the outbox.
  const late = new Set<string>()
  const embedder = serveOpenai(async (_, { texts }) => {
    const slow = texts.filter((text) => /decision c\d*1-\d*2\b/.test(text) && !late.has(text))
    for (const text of slow) late.add(text)
    if (slow.length > 0) await Bun.sleep(2_500)
    return undefined
  })
  const key = join(dir, 'evidence.pem')
  const pem = generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' })
  writeFileSync(key, pem, { mode: 0o600 })
  const guardrails = join(dir, 'guardrails')
  mkdirSync(guardrails)
  writeFileSync(join(guardrails, 'rules.yaml'), rules)
  const login = { agent: 'local', token: 't0ken-of-the-test' }
  const start = (name: number) => {
    const own = join(dir, String(name))
    mkdirSync(own, { recursive: true })
    // The last one looks at the database through a network that fails.
    const address = name === 2 ? net.url : url.toString()
    return startServer({
      dir: own,
      env: {
        CSTP_STORE_URL: address,
        CSTP_AUTH_TOKENS: `${login.agent}:${login.token}`,
        CSTP_EVIDENCE_KEY: key,
        CSTP_EMBEDDER: 'openai',
        CSTP_EMBEDDING_URL: embedder.url,
        CSTP_EMBEDDING_MODEL: 'test',
        GUARDRAILS_PATHS: guardrails,
        CSTP_RECORD_GUARDRAILS: 'block',
        // Leases are asked of the database too, and nobody comes near the limit.
        CSTP_RATE_LIMIT: '600000',
        CSTP_LOG_LEVEL: 'error',
      },
    })
  }
  const servers: RunningServer[] = await Promise.all([0, 1, 2].map(start))
  const history = emptyHistory()
  const end = Date.now() + seconds * 1_000
  const pick = () => servers[Math.floor(Math.random() * servers.length)]!
  const done = { kills: 0, swallows: 0, restarts: 0 }

  async function monkey(): Promise<void> {
    for (let turn = 0; Date.now() < end - 3_000; turn++) {
      await Bun.sleep(2_000)
      const victim = turn % servers.length
      await servers[victim]!.kill('SIGKILL')
      done.kills++
      if (done.restarts === 0 && Date.now() > end - (seconds * 1_000) / 2) {
        done.restarts++
        database.kill()
        database.restart()
      }
      servers[victim] = await start(victim)
      if (turn % 3 === 0) await outage()
    }
  }
  /** Longer than a ping waits; every second time as long as it takes to give statements up. */
  async function outage(): Promise<void> {
    net.swallow()
    await Bun.sleep(done.swallows++ % 2 === 0 ? 2_500 : 7_000)
    net.restore()
  }

  try {
    const names = Array.from({ length: clients }, (_, index) => `c${index}`)
    await Promise.all([monkey(), ...names.map((name) => runClient({ name, pick, history, end, login }))])
    const found = await lookAround(url.toString(), servers)
    const openings = new Set(history.looks.map(({ opened }) => opened)).size - 1
    const probes = new Set(history.looks.map(({ probe }) => probe)).size - 1
    if (soak)
      console.log({
        ...done,
        openings,
        probes,
        found: found.decisions.length,
        ...Object.fromEntries(Object.entries(history).map(([kind, list]) => [kind, list.length])),
      })
    expect(check(history, found)).toEqual([])
    // All of it has happened.
    for (const kind of ['recorded', 'reviews', 'links', 'thoughts', 'events', 'checks', 'looks'] as const)
      expect([kind, history[kind].length > 0]).toEqual([kind, true])
    expect([openings > 0, probes > 0]).toEqual([true, true])
    expect(history.sessions.some(({ left }) => left !== null)).toBe(true)
    expect(late.size).toBeGreaterThan(0)
    expect(await pick().call('verifyEvidenceChain', {})).toMatchObject({ intact: true, records: found.chain.records })
  } finally {
    for (const one of servers) one.process.kill('SIGKILL')
    await embedder.stop()
    await net.close()
  }
}
