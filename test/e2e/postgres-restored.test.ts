/** A database that is replaced, under running servers, by an earlier state of itself: a restored snapshot, a replica that lagged. */
import { expect, setDefaultTimeout, test } from 'bun:test'
import { generateKeyPairSync } from 'node:crypto'
import { copyFileSync, existsSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  durablePostgres,
  type Postgres,
  postgres,
  programOf,
  run as runOwned,
  whyNoPostgres,
} from '../support/postgres.ts'
import { freePort, type RunningServer, run, startServer, testDir, until } from '../support/process.ts'

setDefaultTimeout(240_000)

const markOf = (dir: string): string => join(dir, 'keys', 'thread.mark')

/** A server, and what it is asked until it answers. */
interface Asked extends RunningServer {
  /** @returns the id, once it is acknowledged */
  record(decision: string): Promise<string>
  /** Ids that a search by keyword finds. */
  find(query: string): Promise<string[]>
  isReady(): Promise<boolean>
}

const asked = (server: RunningServer): Asked => ({
  ...server,
  async record(decision) {
    let id: unknown
    await until('it is recorded', async () => {
      const given = { decision, confidence: 0.8, category: 'architecture' }
      id = (await server.call('recordDecision', given)).decision_id
      return true
    })
    return String(id)
  },
  async find(query) {
    const found = await server.call('queryDecisions', { query, limit: 20, retrieval_mode: 'keyword' })
    return (found.decisions as { id: string }[]).map(({ id }) => id).sort()
  },
  isReady: async () => (await fetch(`${server.url}/ready`)).ok,
})

interface Place {
  database: Postgres
  servers: Asked[]
  /** Keeps a copy of the database, and of what each server has signed of it. */
  snapshot(): Promise<void>
  /** Makes a replica that has streamed everything until now, and then lags. */
  replicate(): Promise<void>
  /** The database is gone, and the replica is promoted in its place, before a server has signed what is lost. */
  promote(): Promise<void>
  /** Puts the copy in place of the database. @param signed also of what was signed since */
  restore(signed: boolean): Promise<void>
}

/** Runs a replica on a port of its own for as long as `work` takes. */
async function replica(dir: string, work: () => unknown): Promise<void> {
  const control = [programOf('pg_ctl'), '-D', dir, '-w']
  const options = `-p ${await freePort()} -c max_connections=200 -c listen_addresses=127.0.0.1 -c unix_socket_directories=${dir}`
  runOwned([...control, '-l', join(dir, 'log'), '-o', options, 'start'])
  await work()
  runOwned([...control, '-m', 'fast', 'stop'])
}

async function withServers(count: number, work: (place: Place) => Promise<void>): Promise<void> {
  const kept = mkdtempSync(join(tmpdir(), 'cstp-pg-kept-'))
  const database = durablePostgres([], kept)!
  const [data, copy] = [join(kept, 'data'), join(kept, 'copy')]
  const servers: Asked[] = []
  const dirs = await Promise.all(Array.from({ length: count }, testDir))
  const key = join(dirs[0]!, 'evidence.pem')
  writeFileSync(key, generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }), {
    mode: 0o600,
  })
  const stopped = async (work: () => unknown) => {
    database.kill()
    await work()
    database.restart()
  }
  const keepMarks = () => {
    for (const { dir } of servers) if (existsSync(markOf(dir))) copyFileSync(markOf(dir), join(dir, 'mark'))
  }
  const putMarks = () => {
    for (const { dir } of servers)
      if (existsSync(join(dir, 'mark'))) copyFileSync(join(dir, 'mark'), markOf(dir))
      else rmSync(markOf(dir), { force: true })
  }
  try {
    for (const dir of dirs) {
      const env = { CSTP_STORE_URL: database.url, CSTP_AUTH_TOKENS: 'local:t0ken-of-the-test', CSTP_EVIDENCE_KEY: key }
      servers.push(asked(await startServer({ dir, env })))
    }
    await work({
      database,
      servers,
      snapshot: () =>
        stopped(async () => {
          await run(['cp', '-a', data, copy], { cwd: kept, env: { PATH: process.env.PATH! } })
          keepMarks()
        }),
      async replicate() {
        keepMarks()
        const from = new URL(database.url)
        runOwned([
          programOf('pg_basebackup'),
          '--checkpoint=fast',
          '-R',
          '-X',
          'stream',
          '-h',
          from.hostname,
          '-p',
          from.port,
          '-U',
          'cstp',
          '-D',
          copy,
        ])
        await replica(copy, () => Bun.sleep(500))
      },
      promote: () =>
        stopped(async () => {
          await replica(copy, () => runOwned([programOf('pg_ctl'), '-D', copy, '-w', 'promote']))
          rmSync(data, { recursive: true })
          renameSync(copy, data)
          putMarks()
        }),
      restore: (signed) =>
        stopped(() => {
          rmSync(data, { recursive: true })
          renameSync(copy, data)
          if (signed) putMarks()
        }),
    })
  } finally {
    await Promise.all(servers.map((one) => one.kill()))
    database.kill()
    rmSync(kept, { recursive: true, force: true })
  }
}

if (postgres() === null || process.env.CSTP_TEST_POSTGRES)
  test.skip(`a database that is restored under servers (${whyNoPostgres})`, () => {})
else {
  test('running servers notice it, stop to acknowledge, load everything again, and find what is recorded then', async () => {
    await withServers(2, async ({ servers, snapshot, restore }) => {
      const [one, other] = servers as [Asked, Asked]
      const kept = await one.record('Use SQLite for what is kept')
      await snapshot()
      const lost: string[] = []
      for (let n = 0; n < 5; n++) lost.push(await (n % 2 ? one : other).record(`Use Redis for what is lost ${n}`))
      expect(await other.find('redis')).toEqual(lost.sort())
      await restore(true)
      const recorded: string[] = []
      for (let n = 0; n < 10; n++) recorded.push(await (n % 2 ? one : other).record(`Use Kafka for what is new ${n}`))
      for (const server of servers) {
        await until('it is ready', server.isReady)
        expect(await server.find('kafka')).toEqual(recorded.sort())
        expect(await server.find('redis')).toEqual([])
        expect(await server.find('sqlite')).toEqual([kept])
        expect(await server.kill()).toBe(0)
        expect(await server.log()).toContain('replaced by an earlier state of itself')
      }
    })
  })

  test('so they do when a replica that lags is promoted: what was acknowledged and is gone is answered by none', async () => {
    await withServers(2, async ({ servers, replicate, promote }) => {
      const [one, other] = servers as [Asked, Asked]
      const kept = await one.record('Use SQLite for what is kept')
      await replicate()
      const lost = [await one.record('Use Redis for what is lost'), await other.record('Use Redis for what is gone')]
      expect(await other.find('redis')).toEqual(lost.sort())
      await promote()
      const recorded: string[] = []
      for (let n = 0; n < 4; n++) recorded.push(await (n % 2 ? one : other).record(`Use Kafka for what is new ${n}`))
      for (const server of servers) {
        await until('it is ready', server.isReady)
        expect(await server.find('kafka')).toEqual(recorded.sort())
        expect(await server.find('redis')).toEqual([])
        expect(await server.find('sqlite')).toEqual([kept])
        expect(await server.kill()).toBe(0)
        expect(await server.log()).toContain('replaced by an earlier state of itself')
      }
    })
  })

  test('a server that has signed what is lost ends, and says what to do', async () => {
    await withServers(1, async ({ servers, snapshot, restore }) => {
      const [server] = servers as [Asked]
      await server.record('Use SQLite for what is kept')
      await snapshot()
      await server.record('Use Redis for what is lost')
      const size = () =>
        Number(existsSync(markOf(server.dir)) && readFileSync(markOf(server.dir), 'utf8').split('\n')[1])
      const before = size()
      await until('it is signed', async () => size() > before)
      await restore(false)
      await until('it ends', async () => server.process.exitCode !== null)
      expect(server.process.exitCode).not.toBe(0)
      expect(await server.log()).toContain('cstp evidence new-key')
    })
  })
}
