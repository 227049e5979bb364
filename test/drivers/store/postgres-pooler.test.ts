/** Poolers between a server and its database: one that keeps sessions works, any other is refused at the start. */
import { afterAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { spawn } from 'node:child_process'
import { chmodSync, writeFileSync } from 'node:fs'
import { connect as dial } from 'node:net'
import { join } from 'node:path'
import { SQL } from 'bun'
import { suiteOptions } from '../../../sdk/storage/conformance/store/records.ts'
import { openPostgresStore } from '../../../src/drivers/store/postgres/driver.ts'
import { freshDatabase, type Postgres, postgres, whyNoPostgres } from '../../support/postgres.ts'
import { testDir, until } from '../../support/process.ts'

setDefaultTimeout(120_000)

const server = postgres()
const program = Bun.which('pgbouncer', { PATH: `${process.env.PATH}:/usr/sbin` })
const why = server === null ? whyNoPostgres : program === null ? 'there is no pgbouncer (Debian: pgbouncer)' : null

const started: { kill(): void }[] = []
afterAll(() => {
  for (const one of started) one.kill()
})

/** Parameters of a session, which pgbouncer refuses unless it is set to ignore them. */
const ignored =
  'ignore_startup_parameters = search_path,default_transaction_isolation,statement_timeout,jit,idle_in_transaction_session_timeout,tcp_keepalives_idle,tcp_keepalives_interval,tcp_keepalives_count'

const answers = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = dial(port, '127.0.0.1', () => {
      socket.destroy()
      resolve(true)
    }).on('error', () => resolve(false))
  })

/** @returns the address of the database through a pooler */
async function through(url: string, mode: string, more: string): Promise<string> {
  const dir = await testDir()
  chmodSync(dir, 0o777)
  const port = 30_000 + Math.floor(Math.random() * 2_000)
  const [users, file] = [join(dir, 'users.txt'), join(dir, 'pgbouncer.ini')]
  writeFileSync(users, '"cstp" ""\n')
  writeFileSync(
    file,
    `[databases]
* = host=127.0.0.1 port=${new URL(url).port}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = trust
auth_file = ${users}
pool_mode = ${mode}
${process.getuid?.() === 0 ? 'user = postgres' : ''}
${more}
`,
  )
  started.push(spawn(program!, [file], { stdio: 'ignore' }))
  await until('the pooler answers', () => answers(port))
  const own = new URL(url)
  own.port = String(port)
  return own.toString()
}

const open = (url: string) => openPostgresStore({ ...suiteOptions, url, connections: 4 })
const refusal = (url: string) => open(url).catch((error: unknown) => error)

if (why !== null) test.skip(`poolers (${why})`, () => {})
else describe('poolers', () => suite(server!))

function suite(database: Postgres): void {
  const places = async () => {
    const url = await freshDatabase(database)
    const direct = new SQL(url, { max: 1 })
    const name = new URL(url).pathname.slice(1)
    await direct.unsafe(`alter role cstp in database ${name} set search_path = public`)
    await direct.unsafe(`alter role cstp in database ${name} set default_transaction_isolation = 'read committed'`)
    await direct.close()
    return url
  }

  for (const mode of ['transaction', 'statement', 'session'])
    test(`one in ${mode} mode that refuses settings is named at the start`, async () => {
      expect(await refusal(await through(await freshDatabase(database), mode, ''))).toMatchObject({
        kind: 'invalid',
        message: expect.stringContaining('session mode'),
      })
    })

  for (const mode of ['transaction', 'statement'])
    test(`one in ${mode} mode is named at the start, though the role has the settings`, async () => {
      expect(await refusal(await through(await places(), mode, ignored))).toMatchObject({
        kind: 'invalid',
        message: expect.stringContaining('session mode'),
      })
    })

  test('one whose only connection is held by another client’s transaction is named, not waited for', async () => {
    expect(
      await refusal(await through(await places(), 'transaction', `${ignored}\ndefault_pool_size = 1`)),
    ).toMatchObject({
      kind: 'invalid',
      message: expect.stringContaining('keep its connection'),
    })
  })

  test('one in session mode serves, as the guide says', async () => {
    const store = await open(await through(await places(), 'session', ignored))
    await store.transaction(({ keyed }) => keyed.put('c', 'k', 1))
    expect(await store.keyed.get('c', ['k'])).toMatchObject([{ value: 1 }])
    await store.close()
  })
}
