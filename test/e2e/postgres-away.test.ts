/** A server whose database goes away says so at once, and serves again when it is back; one that is too old for the database does not start. */

import { expect, setDefaultTimeout, test } from 'bun:test'
import { generateKeyPairSync } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { SQL } from 'bun'
import { suiteOptions } from '../../sdk/storage/conformance/store/records.ts'
import { countDecisions } from '../../sdk/storage/groups.ts'
import { connect } from '../../src/drivers/shared/postgres/client.ts'
import { openPostgresStore } from '../../src/drivers/store/postgres/driver.ts'
import { freshSchema, postgres, whyNoPostgres } from '../support/postgres.ts'
import { startServer, testDir, until } from '../support/process.ts'

setDefaultTimeout(120_000)

/** @returns path of a new key in a folder */
function newKey(dir: string): string {
  const key = join(dir, 'evidence.pem')
  const pem = generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' })
  writeFileSync(key, pem, { mode: 0o600 })
  return key
}

const server = postgres()
const isOwn = server !== null && !process.env.CSTP_TEST_POSTGRES
const title = 'without its database a server fails cleanly, and needs no restart when it is back'

if (!isOwn) test.skip(`${title} (${server === null ? whyNoPostgres : 'the database is not ours to stop'})`, () => {})
else
  test(title, async () => {
    const dir = await testDir()
    const key = newKey(dir)
    const env = {
      CSTP_STORE_URL: freshSchema(server),
      CSTP_AUTH_TOKENS: 'local:t0ken-of-the-test',
      CSTP_EVIDENCE_KEY: key,
      // Leases are asked of the database too.
      CSTP_RATE_LIMIT: '6000',
    }
    const running = await startServer({ dir, env })
    const record = (decision: string) =>
      running.call('recordDecision', { decision, confidence: 0.8, category: 'architecture' })
    const ids = [(await record('Before')).decision_id]
    const ready = async () => (await fetch(`${running.url}/ready`)).status

    server.kill()
    try {
      const { error } = await running.rpc('getDecision', { id: ids[0] })
      expect(error).toMatchObject({ code: -32010, data: { kind: 'unavailable', request_id: expect.any(String) } })
      expect(JSON.stringify(error)).not.toContain('postgres')
      await until('/ready tells', async () => (await ready()) === 503)
      expect((await running.rpc('recordDecision', { decision: 'x', confidence: 1, category: 'c' })).error).toBeDefined()
      expect((await fetch(`${running.url}/health`)).status).toBe(200)
    } finally {
      server.restart()
    }
    await until('/ready tells', async () => (await ready()) === 200)
    ids.push((await record('After')).decision_id)
    for (const id of ids) expect(await running.call('getDecision', { id })).toMatchObject({ id })

    // A restart between two calls is noticed by nobody.
    server.kill()
    server.restart()
    expect(await running.call('listDecisions', {})).toMatchObject({ total: 2 })
    expect(await running.kill()).toBe(0)
    expect(await running.log()).not.toContain('t0ken')
  })

if (server !== null) {
  test('a server whose tables are gone is not ready', async () => {
    const address = freshSchema(server)
    const dir = await testDir()
    const running = await startServer({
      dir,
      env: { CSTP_STORE_URL: address, CSTP_AUTH_TOKENS: 'local:t0ken-of-the-test', CSTP_EVIDENCE_KEY: newKey(dir) },
    })
    const ready = async () => (await fetch(`${running.url}/ready`)).status
    expect(await ready()).toBe(200)
    const direct = new SQL(server.url, { max: 1 })
    await direct.unsafe(`drop schema ${new URL(address).searchParams.get('schema')} cascade`)
    await direct.close()
    await until('/ready tells', async () => (await ready()) === 503)
    await running.kill()
  })

  test('a start that meets a database which is too slow for a statement goes on once it is faster', async () => {
    const address = new URL(freshSchema(server))
    address.searchParams.set('statement_timeout_ms', '500')
    const dir = await testDir()
    const env = {
      CSTP_STORE_URL: String(address),
      CSTP_AUTH_TOKENS: 'a:t0ken-of-the-test',
      CSTP_EVIDENCE_KEY: newKey(dir),
    }
    await (await startServer({ dir, env })).kill()
    const schema = address.searchParams.get('schema')!
    const direct = new SQL(server.url, { max: 1 })
    const tables: { name: string }[] = await direct.unsafe(
      `select tablename as name from pg_tables where schemaname = '${schema}' and tablename <> 'cstp_schema'`,
    )
    await direct.unsafe(`begin; lock table ${tables.map(({ name }) => `"${schema}"."${name}"`).join(', ')}`)
    const starting = startServer({ dir, env })
    await Bun.sleep(4_000)
    await direct.unsafe('rollback')
    await direct.close()
    const running = await starting
    expect((await fetch(`${running.url}/ready`)).status).toBe(200)
    await running.kill()
    expect(await running.log()).toContain('the start is repeated')
  })

  test('a database that a newer program has changed is refused', async () => {
    const url = freshSchema(server)
    await (await openPostgresStore({ ...suiteOptions, url })).close()
    const client = await connect({ url, connections: 1, statement_timeout_ms: 10_000 })
    await client.read('update cstp_schema set version = version + 1')
    await client.close()
    expect(await openPostgresStore({ ...suiteOptions, url }).catch((thrown: unknown) => thrown)).toMatchObject({
      kind: 'invalid',
      message: expect.stringContaining('start the newer program'),
    })
  })

  test('programs that start together make the tables once', async () => {
    const url = freshSchema(server)
    const stores = await Promise.all(
      Array.from({ length: 6 }, () => openPostgresStore({ ...suiteOptions, url, connections: 2 })),
    )
    for (const store of stores) expect(await countDecisions(store.decisions, {})).toBe(0)
    await Promise.all(stores.map((store) => store.close()))
  })
}
