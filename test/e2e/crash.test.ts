/** Kills servers with SIGKILL during mixed writes: what was acknowledged is there, whole and searchable, and there are no halves. */
import { expect, test } from 'bun:test'
import { generateKeyPairSync } from 'node:crypto'
import { existsSync } from 'node:fs'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parse } from 'yaml'
import { suiteOptions } from '../../sdk/storage/conformance/store/records.ts'
import type { Store } from '../../sdk/storage/store.ts'
import { openPostgresStore } from '../../src/drivers/store/postgres/driver.ts'
import { openSqliteStore } from '../../src/drivers/store/sqlite/driver.ts'
import { freshSchema, postgres, whyNoPostgres } from '../support/postgres.ts'
import { disk, inTemporaryDir, type RunningServer, startServer, testDir } from '../support/process.ts'
import { checkThread } from '../support/thread.ts'

const soak = process.env.CSTP_SOAK === '1'
const clients = 8

/** What a client knows of a decision: what was acknowledged, and what may or may not have been done. */
interface Known {
  word: string
  tags: Set<string>
  tagsInDoubt: Set<string>
  outcome: string | null
  outcomeInDoubt: string | null
  indexed: boolean
}

interface History {
  acknowledged: Map<string, Known>
  /** Words of records that were sent; those without an answer may exist or not. */
  sent: Set<string>
  /** Descriptions of actions that were checked; true once their verdict came. */
  checked: Map<string, boolean>
  /** Ids of the acts that answers named. */
  records: Set<string>
}

let serial = 0
/** What a recorder makes of its own outcome: a later review by itself counts only where it is not better. */
const worth: Record<string, number> = { failure: 0, partial: 0.5, success: 1 }
const reviewed = (before: string | null, next: string): string =>
  before !== null && worth[next]! > worth[before]! ? before : next

const pick = <T>(items: readonly T[]): T => items[Math.floor(Math.random() * items.length)]!

/** Asks for a batch of verdicts; each that comes must have its line in the audit trail. */
async function check(server: RunningServer, history: History): Promise<void> {
  const descriptions = Array.from({ length: 1 + Math.floor(Math.random() * 6) }, () => `check ${++serial}`)
  for (const description of descriptions) history.checked.set(description, false)
  const batch = descriptions.map((description, id) => ({
    jsonrpc: '2.0',
    method: 'cstp.checkGuardrails',
    params: { action: { description, stakes: 'high', ...(id % 2 === 0 && { confidence: 0.9 }) } },
    id,
  }))
  const answers = (await server.post(batch)) as { id: number; result?: { allowed: boolean; record_id: string } }[]
  for (const { id, result } of answers) {
    if (result?.allowed !== (id % 2 === 0)) throw new Error(`-32004 a wrong verdict: ${JSON.stringify(result)}`)
    history.checked.set(descriptions[id]!, true)
    history.records.add(result.record_id)
  }
}

/** Every verdict and every record that was answered has exactly one line; those in doubt have one or none. */
async function verifyTrail(server: RunningServer, history: History): Promise<void> {
  const verdicts = new Map<string, number>()
  const records = new Map<string, number>()
  const count = (map: Map<string, number>, key: string) => map.set(key, (map.get(key) ?? 0) + 1)
  for (let cursor: unknown = null; ; ) {
    const page = await server.call('listAudit', { limit: 500, ...(cursor !== null && { cursor }) })
    for (const { method, ids, detail } of page.entries as { method: string; ids: string[]; detail: unknown }[]) {
      if (method === 'cstp.recordDecision') count(records, ids[0]!)
      if (method === 'cstp.checkGuardrails')
        count(verdicts, (detail as { input: { description: string } }).input.description)
    }
    cursor = page.next_cursor
    if (cursor === null) break
  }
  for (const [description, answered] of history.checked) {
    const lines = verdicts.get(description) ?? 0
    expect([description, answered ? lines === 1 : lines <= 1]).toEqual([description, true])
  }
  for (const id of history.acknowledged.keys()) expect([id, records.get(id)]).toEqual([id, 1])
}

/** Sends one random write; an answer that does not come leaves it in doubt. */
async function write(server: RunningServer, history: History, mine: string[]): Promise<void> {
  const roll = Math.random()
  if (roll > 0.9) return check(server, history)
  if (roll > 0.85) {
    const event = { event_type: 'ci_completed', ts: '2026-07-01T10:00:00Z', payload: { serial: ++serial } }
    const { first_seq } = await server.call('ingestEvidence', { source: 'ci', events: [event] })
    history.records.add(`evidence/${first_seq}`)
    return
  }
  if (mine.length === 0 || roll < 0.5) {
    const word = `word${(++serial).toString(36)}x${Math.random().toString(36).slice(2, 8)}`
    history.sent.add(word)
    const decision = `Adopt ${word}: keep it\nacross "restarts" # and crashes`
    const result = await server.call('recordDecision', {
      decision,
      confidence: 0.8,
      category: 'test',
      tags: ['first'],
      context: word.repeat(20),
    })
    const id = String(result.decision_id)
    history.records.add(String(result.record_id))
    history.acknowledged.set(id, {
      word,
      tags: new Set(['first']),
      tagsInDoubt: new Set(),
      outcome: null,
      outcomeInDoubt: null,
      indexed: Boolean(result.indexed),
    })
    mine.push(id)
    return
  }
  const id = pick(mine)
  const known = history.acknowledged.get(id)!
  if (roll < 0.8) {
    const tag = `tag${++serial}`
    known.tagsInDoubt.add(tag)
    const tags = [...known.tags, tag]
    const { record_id } = await server.call('updateDecision', { id, updates: { tags } })
    history.records.add(String(record_id))
    known.tags.add(tag)
  } else {
    const outcome = pick(['success', 'failure', 'partial'])
    known.outcomeInDoubt = reviewed(known.outcome, outcome)
    const given = { decision_id: id, outcome, lessons: `lesson of ${known.word}` }
    const { record_id } = await server.call('reviewDecision', given)
    history.records.add(String(record_id))
    known.outcome = known.outcomeInDoubt
    known.outcomeInDoubt = null
  }
}

/** Each client writes its own decisions one after the other, until its server dies or the round ends. */
async function client(
  server: RunningServer,
  history: History,
  running: () => boolean,
  told: () => void,
): Promise<void> {
  const mine: string[] = []
  while (running()) {
    try {
      await write(server, history, mine)
      told()
    } catch (error) {
      // Only a connection that breaks is expected; an error answer is a failure of the test.
      if (error instanceof Error && /-3\d{4}/.test(error.message)) throw error
      return
    }
  }
}

async function yamlFiles(dir: string): Promise<string[]> {
  return (await readdir(join(dir, 'decisions'), { recursive: true })).filter((path) => path.endsWith('.yaml'))
}

async function verify(server: RunningServer, history: History): Promise<void> {
  // With PostgreSQL there are no files of decisions.
  const hasFiles = existsSync(join(server.dir, 'decisions'))
  const ids = new Set<string>()
  for (let offset = 0; ; offset += 500) {
    const page = (await server.call('listDecisions', { limit: 500, offset })).decisions as {
      id: string
      decision: string
      tags: string[]
    }[]
    for (const { id, decision, tags } of page) {
      ids.add(id)
      const word = /^Adopt (\w+):/.exec(decision)?.[1] ?? ''
      expect(history.sent.has(word)).toBe(true)
      expect(decision).toBe(`Adopt ${word}: keep it\nacross "restarts" # and crashes`)
      expect(tags[0]).toBe('first')
    }
    if (page.length < 500) break
  }
  for (const [id, known] of history.acknowledged) {
    expect(ids.has(id)).toBe(true)
    const record = await server.call('getDecision', { id })
    for (const tag of known.tags) expect(record.tags).toContain(tag)
    for (const tag of record.tags as string[]) expect(known.tags.has(tag) || known.tagsInDoubt.has(tag)).toBe(true)
    expect([known.outcome, known.outcomeInDoubt]).toContain(record.outcome as string | null)
    known.outcome = record.outcome as string | null
    known.tags = new Set(record.tags as string[])
    if (hasFiles) {
      const file = await readFile(join(server.dir, 'decisions', id.slice(0, 4), id.slice(5, 7), `${id}.yaml`), 'utf8')
      expect(parse(file)).toEqual({ format: 1, ...record })
    }
    const by = async (retrieval_mode: string) =>
      (
        (await server.call('queryDecisions', { query: `Adopt ${known.word}: keep it`, retrieval_mode, limit: 20 }))
          .decisions as { id: string }[]
      ).map((hit) => hit.id)
    expect(await by('keyword')).toContain(id)
    if (known.indexed) {
      expect(await by('semantic')).toContain(id)
      expect(await by('hybrid')).toContain(id)
    }
  }
  await verifyTrail(server, history)
  if (hasFiles) expect((await yamlFiles(server.dir)).length).toBe(ids.size)
}

type Start = () => Promise<RunningServer>

const round = async (start: Start, history: History, count: number): Promise<void> => {
  const servers = await Promise.all(Array.from({ length: count }, start))
  let on = true
  // By answers, not by time: on a busy machine, too, it dies in the midst of its work.
  let left = 20 + Math.floor(Math.random() * 200)
  const { promise: enough, resolve } = Promise.withResolvers<void>()
  const told = () => {
    if (--left === 0) resolve()
  }
  const work = servers.flatMap((server) =>
    Array.from({ length: clients }, () => client(server, history, () => on, told)),
  )
  await Promise.race([enough, Promise.all(work)])
  await Bun.sleep(Math.random() * 20)
  for (const server of servers) await server.kill('SIGKILL')
  on = false
  await Promise.all(work)
}

interface Place {
  start: Start
  openStore(): Promise<Store>
}

/** @param rounds each ends with the death of all servers */
async function killed({ start, openStore }: Place, servers: number, rounds: number): Promise<void> {
  const history: History = { acknowledged: new Map(), sent: new Set(), checked: new Map(), records: new Set() }
  for (let index = 0; index < rounds; index++) {
    await round(start, history, servers)
    // The check of everything is quadratic over the rounds: the last one and every tenth suffice.
    if (index % 10 !== 9 && index < rounds - 1) continue
    const server = await start()
    await verify(server, history)
    expect(await server.kill()).toBe(0)
    const store = await openStore()
    await checkThread(store, history.records).finally(() => store.close())
  }
  expect(history.acknowledged.size).toBeGreaterThan(rounds)
  expect([...history.checked.values()].filter((answered) => answered).length).toBeGreaterThan(rounds)
  if (soak) console.log({ kills: rounds * servers, acknowledged: history.records.size })
}

const limit_ms = soak ? 1_800_000 : 180_000

for (const servers of [1, 2]) {
  const rounds = soak ? 50 : 4
  const name = `${servers === 2 ? 'two servers on one directory' : 'one server'}, killed ${rounds} times, lose nothing`
  const kill = (dir: string) =>
    killed(
      { start: () => startServer({ dir }), openStore: () => openSqliteStore({ ...suiteOptions, dir }) },
      ...([servers, rounds] as const),
    )
  test(name, () => inTemporaryDir(kill, disk), limit_ms)
}

const database = postgres()
const rounds = soak ? 50 : 2
const title = `two servers on PostgreSQL, killed ${rounds} times, lose nothing`
if (database === null) test.skip(`${title} (${whyNoPostgres})`, () => {})
else
  test(
    title,
    async () => {
      const dir = await testDir()
      const url = freshSchema(database)
      const key = join(dir, 'evidence.pem')
      await writeFile(key, generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }), {
        mode: 0o600,
      })
      const env = {
        CSTP_STORE_URL: url,
        CSTP_EVIDENCE_KEY: key,
        CSTP_AUTH_TOKENS: 'local:t0ken-of-the-test',
      }
      const place = {
        start: () => startServer({ dir, env }),
        openStore: () => openPostgresStore({ ...suiteOptions, url }),
      }
      await killed(place, 2, rounds)
    },
    limit_ms,
  )
