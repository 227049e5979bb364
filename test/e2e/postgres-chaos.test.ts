/** Servers on one database that are killed under load, and a restart of the database: what the clients were told still holds. CSTP_SOAK=1 runs it long. */
import { expect, setDefaultTimeout, test } from 'bun:test'
import { generateKeyPairSync } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { openPostgresEvidence } from '../../src/drivers/evidence/postgres.ts'
import { chainOf } from '../drivers/evidence-tools.ts'
import { freshSchema, type Postgres, postgres, whyNoPostgres } from '../postgres.ts'
import { inTemporaryDir, type RunningServer, startServer } from '../server.ts'

setDefaultTimeout(600_000)

const soak = process.env.CSTP_SOAK === '1'
const [clients, seconds] = soak ? [32, 120] : [8, 10]
const server = postgres()
const title = `three servers, ${clients} clients: nothing that was acknowledged is lost, nothing happens twice`

/** What the clients know. */
interface History {
  /** Decision text by acknowledged id. */
  decisions: Map<string, string>
  /** Payload by acknowledged number. */
  events: Map<number, string>
  thoughts: number
  /** Answers that no client should get. */
  unclean: string[]
  refused: number
}

if (server === null || process.env.CSTP_TEST_POSTGRES)
  test.skip(`${title} (${server === null ? whyNoPostgres : 'the database is not ours to stop'})`, () => {})
else test(title, () => inTemporaryDir((dir) => run(dir, server)))

async function run(dir: string, database: Postgres): Promise<void> {
  const url = freshSchema(database)
  const key = join(dir, 'evidence.pem')
  const pem = generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' })
  writeFileSync(key, pem, { mode: 0o600 })
  const start = (name: number) => {
    const own = join(dir, String(name))
    mkdirSync(own, { recursive: true })
    const env = {
      CSTP_STORE_URL: url,
      CSTP_AUTH_TOKENS: 'local:t0ken',
      CSTP_EVIDENCE_KEY: key,
      CSTP_LOG_LEVEL: 'error',
    }
    return startServer({ dir: own, env })
  }
  const servers: RunningServer[] = await Promise.all([0, 1, 2].map(start))
  const history: History = { decisions: new Map(), events: new Map(), thoughts: 0, unclean: [], refused: 0 }
  const end = Date.now() + seconds * 1_000

  /** The result; null where the call was refused or nobody answered. */
  async function call(method: string, params: object): Promise<Record<string, unknown> | null> {
    const at = servers[Math.floor(Math.random() * servers.length)]!
    let answer: Awaited<ReturnType<RunningServer['rpc']>>
    try {
      answer = await at.rpc(method, params)
    } catch {
      // The server was killed meanwhile.
      await Bun.sleep(20)
      return null
    }
    if (answer.result) return answer.result
    history.refused++
    const { code, message } = answer.error ?? { code: 0, message: JSON.stringify(answer) }
    // The engine failed, in whatever method: never a wrong parameter, never a word about its inside.
    if (![-32603, -32003, -32004, -32005, -32006, -32008].includes(code) || /postgres|sql|connection/i.test(message))
      history.unclean.push(`${method}: ${code} ${message}`)
    await Bun.sleep(20)
    return null
  }

  async function client(name: string): Promise<void> {
    for (let op = 0; Date.now() < end; op++) {
      // What nobody acknowledged is a new thought, as it may have been kept.
      if (await call('recordThought', { text: `thought ${name}-${op}`, agent_id: name })) history.thoughts++
      const decision = `decision ${name}-${op}`
      const params = {
        decision,
        confidence: 0.8,
        category: 'chaos',
        agent_id: name,
        idempotency_key: `${name}-${op}`,
      }
      // Sent again until somebody says yes, or the test is over.
      while (Date.now() < end) {
        const recorded = await call('recordDecision', params)
        if (recorded) {
          history.decisions.set(String(recorded.decision_id), decision)
          const outcome = { id: recorded.decision_id, outcome: op % 2 === 0 ? 'failure' : 'success' }
          await call('reviewDecision', outcome)
          break
        }
      }
      const event = { event_type: 'ci_completed', ts: '2026-07-01T10:00:00Z', payload: { op: `${name}-${op}` } }
      const ingested = await call('ingestEvidence', { source: 'ci', events: [event] })
      if (ingested) history.events.set(Number(ingested.first_seq), `${name}-${op}`)
      await call('queryDecisions', { query: `decision ${name}`, retrieval_mode: 'keyword', limit: 3 })
    }
  }

  async function monkey(): Promise<void> {
    let isDatabaseDue = true
    for (let turn = 0; Date.now() < end - 3_000; turn++) {
      await Bun.sleep(2_000)
      const victim = turn % servers.length
      await servers[victim]!.kill('SIGKILL')
      if (isDatabaseDue && Date.now() > end - (seconds * 1_000) / 2) {
        isDatabaseDue = false
        database.kill()
        database.restart()
      }
      servers[victim] = await start(victim)
    }
  }

  await Promise.all([monkey(), ...Array.from({ length: clients }, (_, index) => client(`c${index}`))])

  expect(history.unclean).toEqual([])
  expect(history.decisions.size).toBeGreaterThan(clients)
  expect(history.events.size).toBeGreaterThan(clients)
  const reader = servers[0]!
  const texts = new Map<string, number>()
  const thoughts = new Map<string, number>()
  for (const [id, decision] of history.decisions) {
    const record = await reader.call('getDecision', { id })
    expect(record).toMatchObject({ decision })
    texts.set(decision, (texts.get(decision) ?? 0) + 1)
    const { steps = [] } = (record.deliberation ?? {}) as { steps?: { thought: string }[] }
    for (const { thought } of steps)
      if (thought.startsWith('thought ')) thoughts.set(thought, (thoughts.get(thought) ?? 0) + 1)
  }
  expect([...texts].filter(([, times]) => times > 1)).toEqual([])
  expect([...thoughts].filter(([, times]) => times > 1)).toEqual([])
  expect(thoughts.size).toBeGreaterThan(0)
  // No second record under the key of an acknowledged one.
  const { total } = await reader.call('listDecisions', { category: 'chaos', limit: 1 })
  expect(Number(total)).toBeLessThanOrEqual(history.decisions.size + clients)

  const evidence = await openPostgresEvidence({ url })
  const { seq } = await evidence.head()
  expect(await chainOf(evidence).verify(null)).toMatchObject({ intact: true, records: seq })
  for (const [number, op] of history.events) {
    const [record] = await evidence.read(number, 1)
    expect(JSON.stringify(JSON.parse(record!.payload))).toContain(`"op":"${op}"`)
  }
  await evidence.close()

  const scope = { scope: 'category:chaos' }
  const states = await Promise.all(servers.map((one) => one.rpc('getCircuitState', scope)))
  for (const { result, error } of states) expect(error ?? result).toEqual(states[0]!.error ?? states[0]!.result)
  for (const one of servers) await one.kill()
}
