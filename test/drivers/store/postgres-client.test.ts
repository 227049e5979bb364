/** Connections to PostgreSQL: what is given up, when, and what it leaves behind. */
import { test as bunTest, describe, expect, setDefaultTimeout } from 'bun:test'
import { SQL } from 'bun'
import { isStorageError, type StorageError } from '../../../sdk/storage/errors.ts'
import { openTurns } from '../../../src/core/each.ts'
import { type Client, type ClientOptions, connect } from '../../../src/drivers/shared/postgres/client.ts'
import { type Network, network } from '../../support/network.ts'
import { freshDatabase, type Postgres, postgres, whyNoPostgres } from '../../support/postgres.ts'
import { until } from '../../support/process.ts'

setDefaultTimeout(120_000)

const server = postgres()
if (server === null) bunTest.skip(`connections to PostgreSQL (${whyNoPostgres})`, () => {})
else describe('connections to PostgreSQL', () => suite(server))

/** What it was refused with. @throws when it was not */
const refusal = async (work: Promise<unknown>): Promise<StorageError> => {
  const error = await work.then(
    () => new Error('it was not refused'),
    (thrown: unknown) => thrown,
  )
  if (!isStorageError(error)) throw error
  return error
}

/** A database of its own for each test, and a network to it: the tests wait more than they work, so they wait together. */
interface Place {
  url: string
  net: Network
  direct: SQL
  open(options?: Partial<ClientOptions>): Promise<Client>
  notes(): Promise<string[]>
  /** Connections of the program by what the server says of them. */
  seen(): Promise<{ pid: number; state: string }[]>
}

const put = 'insert into notes (text) values ($1)'

async function inPlace(database: Postgres, work: (place: Place) => Promise<void>): Promise<void> {
  const url = await freshDatabase(database)
  const net = await network(url)
  const direct = new SQL(url, { max: 1 })
  const clients: Client[] = []
  try {
    await direct.unsafe('create table notes (text text primary key)')
    await work({
      url,
      net,
      direct,
      async open(options = {}) {
        const limits = { connections: 2, statement_timeout_ms: 700, grace_ms: 300, wait_ms: 500 }
        const client = await connect({ url: net.url, ...limits, ...options })
        clients.push(client)
        return client
      },
      notes: async () =>
        (await direct.unsafe('select text from notes order by text')).map(({ text }: { text: string }) => text),
      seen: async () =>
        direct.unsafe(
          `select pid, state from pg_stat_activity where datname = current_database() and application_name = 'cstp'`,
        ),
    })
  } finally {
    net.restore()
    await Promise.all(clients.map((client) => client.close()))
    await direct.close()
    await net.close()
  }
}

function suite(database: Postgres): void {
  // All at once a connection takes longer than a client waits.
  const inTurn = openTurns(4)
  const test = (title: string, work: (place: Place) => Promise<void>) =>
    bunTest.concurrent(title, () => inTurn(() => inPlace(database, work)))

  for (const isolation of ['repeatable read', 'serializable'])
    test(`every statement is read committed where the default of the database is ${isolation}`, async ({
      direct,
      url,
      open,
    }) => {
      await direct.unsafe(
        `alter database ${new URL(url).pathname.slice(1)} set default_transaction_isolation = '${isolation}'`,
      )
      const client = await open({ connections: 1 })
      const shown = async (query: Client['read']) =>
        (await query<{ level: string }>(`select current_setting('transaction_isolation') as level`))[0]!.level
      expect(await shown(client.read)).toBe('read committed')
      expect(await client.begin(shown)).toBe('read committed')
      await client.read(`set default_transaction_isolation = '${isolation}'`)
      expect(await client.begin(shown)).toBe('read committed')
    })

  test('a session whose settings do not arrive, as behind a pooler in transaction mode, is refused at the start', async ({
    open,
  }) => {
    const error = await refusal(open({ settings: { search_path: '"elsewhere"' } }))
    expect([error.kind, error.message]).toEqual(['invalid', expect.stringContaining('session mode')])
  })

  test('a query without an answer times out, and idle connections are closed with it', async ({ net, open }) => {
    const client = await open({ connections: 4 })
    await Promise.all([1, 2, 3].map(() => client.read('select pg_sleep(0.05)')))
    const before = net.opened
    net.swallow()
    const error = await refusal(client.read('select 1'))
    expect([error.kind, error.message]).toEqual(['unavailable', 'postgres: the database did not respond within 1 s'])
    expect(error.outcomeUnknown).toBe(false)
    net.restore()
    expect(await client.read('select 1 as one')).toEqual([{ one: 1 }])
    expect(net.opened).toBeGreaterThan(before)
  })

  test('a connection attempt without an answer times out', async ({ net, open }) => {
    const client = await open({ connections: 1 })
    net.reset()
    net.swallow()
    const errors = await Promise.all(
      [client.read('select 1'), client.begin(async () => {})].map((one) => one.catch((error) => error)),
    )
    for (const error of errors) expect(error.message).toBe('postgres: no connection became free within 0.5 s')
    net.restore()
    expect(await client.read('select 1 as one')).toEqual([{ one: 1 }])
  })

  test('an abandoned transaction leaves no rows, no locks and no open connection', async ({
    net,
    direct,
    open,
    notes,
    seen,
  }) => {
    const client = await open()
    const error = await refusal(
      client.begin(async (query) => {
        await query('select pg_advisory_xact_lock(77)')
        await query(put, ['lost'])
        net.swallow()
        await query(put, ['lost too'])
      }),
    )
    expect(error.kind).toBe('unavailable')
    // The network is still away: the server ends by itself what nobody goes on with.
    await until('the lock is free', async () => {
      const [row] = await direct.unsafe('select pg_try_advisory_xact_lock(77) as free')
      return row.free
    })
    net.restore()
    expect(await notes()).toEqual([])
    await client.begin((query) => query(put, ['kept']))
    expect(await client.read('select text from notes')).toEqual([{ text: 'kept' }])
    expect((await seen()).filter(({ state }) => state !== 'idle')).toEqual([])
  })

  test('a commit without an answer is stored completely or not at all', async ({ net, open, notes }) => {
    const client = await open()
    await client.read('select 1')
    const work = client.begin(async (query) => {
      for (const text of ['a', 'b', 'c']) await query(put, [text])
      net.swallow()
    })
    expect(await refusal(work)).toMatchObject({ kind: 'unavailable', outcomeUnknown: true })
    net.restore()
    expect([0, 3]).toContain((await notes()).length)
    expect(await client.begin((query) => query('select 1 as one'))).toEqual([{ one: 1 }])
  })

  test('a connection that breaks while nothing is asked on it does not let its transaction go on outside', async ({
    net,
    direct,
    open,
    notes,
    seen,
  }) => {
    const client = await open({ connections: 1 })
    let pid = 0
    const work = client.begin(async (query) => {
      const [row] = await query<{ pid: number }>('select pg_backend_pid() as pid')
      pid = row!.pid
      await query(put, ['lost'])
      await direct.unsafe('select pg_terminate_backend($1::int)', [pid])
      await until('it is gone', async () => !(await seen()).some((one) => one.pid === pid))
      await query(put, ['outside'])
    })
    expect(await work.catch((error: Error) => error.message)).toContain('terminating connection')
    expect(await notes()).toEqual([])
    // A connection that died while it lay idle is noticed by nobody.
    const [next] = await client.read<{ pid: number }>('select pg_backend_pid() as pid')
    expect(next!.pid).not.toBe(pid)
    await direct.unsafe('select pg_terminate_backend($1::int)', [next!.pid])
    await client.begin((query) => query(put, ['kept']))
    net.reset()
    expect(await client.read('select text from notes')).toEqual([{ text: 'kept' }])
  })

  test('a query after the end of its transaction is refused', async ({ open, notes }) => {
    const client = await open({ connections: 1 })
    let late: Promise<unknown> = Promise.resolve()
    await client
      .begin(async (query) => {
        late = Bun.sleep(50).then(() => query(put, ['late']))
        late.catch(() => {})
        throw new Error('no')
      })
      .catch(() => {})
    expect((await refusal(late)).message).toBe('the transaction is over')
    expect(await notes()).toEqual([])
  })

  test('a transaction with a statement that failed is never said to be committed', async ({ open, notes }) => {
    const client = await open()
    const error = await refusal(
      client.begin(async (query) => {
        await query(put, ['lost'])
        await query('select no_such_thing').catch(() => {})
      }),
    )
    expect(error.message).toBe('postgres: the transaction was rolled back')
    expect(await notes()).toEqual([])
  })

  test('who finds no free connection hears so soon, and is asked for all the same', async ({ open, direct }) => {
    const client = await open({ statement_timeout_ms: 60_000 })
    await direct.unsafe('select pg_advisory_lock(78)')
    const slow = [1, 2].map(() => client.read('select pg_advisory_lock_shared(78)'))
    const error = await refusal(client.read('select 1'))
    expect([error.kind, error.message]).toEqual(['unavailable', 'postgres: no connection became free within 0.5 s'])
    await client.ping()
    await direct.unsafe('select pg_advisory_unlock(78)')
    await Promise.all(slow)
    expect(await client.read('select 1 as one')).toEqual([{ one: 1 }])
  })

  test('what takes its time is waited for where that is wanted, as long as the database answers', async ({
    net,
    open,
  }) => {
    const client = await open()
    expect(await client.beginWithoutTimeout((query) => query('select pg_sleep(2.3)'))).toHaveLength(1)
    expect(String(await client.begin((query) => query('select pg_sleep(1.2)')).catch((error) => error))).toContain(
      'statement timeout',
    )
    const hopeless = client.beginWithoutTimeout(async (query) => {
      net.swallow()
      await query('select pg_sleep(0.1)')
    })
    expect((await refusal(hopeless)).message).toContain('did not respond')
    net.restore()
    expect(await client.read('select 1 as one')).toEqual([{ one: 1 }])
  })

  test('a ping without an answer fails, and the next one succeeds', async ({ net, open, seen }) => {
    const client = await open()
    await client.ping()
    net.swallow()
    expect((await refusal(client.ping())).message).toContain('did not respond within 2 s')
    net.restore()
    await client.ping()
    await client.close()
    await until('all are closed', async () => (await seen()).length === 0)
  })

  test('closing waits for running queries, up to its timeout', async ({ direct, open, notes, seen }) => {
    const client = await open({ statement_timeout_ms: 60_000 })
    await client.read('select 1')
    const quick = client.begin(async (query) => {
      await query(put, ['kept'])
      await Bun.sleep(100)
    })
    const endless = client.read('select pg_sleep(60)').catch((error: Error) => error.message)
    await Bun.sleep(20)
    await client.close()
    await quick
    expect(await notes()).toEqual(['kept'])
    expect(await endless).toBe('postgres: the connections are closed')
    // The server still works on what nobody waits for any more.
    for (const { pid } of await seen()) await direct.unsafe('select pg_terminate_backend($1::int)', [pid])
    await until('it has ended', async () => (await seen()).length === 0)
    expect((await refusal(client.read('select 1'))).message).toBe('postgres: the connections are closed')
  })

  test('an address may say how many connections there are and how long a statement takes', async ({
    url,
    open,
    seen,
  }) => {
    const own = new URL(url)
    own.searchParams.set('statement_timeout_ms', '150')
    own.searchParams.set('connections', '1')
    const client = await open({ url: own.toString(), wait_ms: 5_000 })
    await Promise.all([client.read('select 1'), client.read('select 1'), client.read('select 1')])
    expect(await seen()).toHaveLength(1)
    expect(String(await client.read('select pg_sleep(1)').catch((error) => error))).toContain('statement timeout')
    for (const [name, value] of [
      ['connections', '0'],
      ['connections', '1e3'],
      ['statement_timeout_ms', '-1'],
      ['statement_timeout_ms', '99'],
    ] as const) {
      const bad = new URL(url)
      bad.searchParams.set(name, value)
      const error = await refusal(open({ url: bad.toString() }))
      expect([error.kind, error.message.startsWith(`${name} of a PostgreSQL address is a whole number`)]).toEqual([
        'invalid',
        true,
      ])
    }
  })

  test('many servers can start on an empty database at once', async ({ url, direct, open }) => {
    const own = new URL(url)
    own.searchParams.set('schema', 'together')
    await Promise.all(Array.from({ length: 12 }, () => open({ url: own.toString(), connections: 1, wait_ms: 5_000 })))
    expect(await direct.unsafe(`select 1 from pg_namespace where nspname = 'together'`)).toHaveLength(1)
  })
}
