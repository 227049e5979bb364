/**
 * The store for many servers: a database for each size, in a PostgreSQL of its own or in the one that CSTP_BENCH_POSTGRES names, where
 * what was seeded stays for the next run.
 */
import { generateKeyPairSync } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { totalmem } from 'node:os'
import { join } from 'node:path'
import { SQL } from 'bun'
import { durablePostgres, whyNoPostgres } from '../support/postgres.ts'
import { runToEnd } from './process.ts'
import { once, type Site } from './site.ts'

/** What an operator would set on a machine that the database has for itself; all that durability needs is left on. */
function settings(): string[] {
  const gb = Math.max(1, Math.floor(totalmem() / 2 ** 30))
  const quarter = Math.ceil(gb / 4)
  return [
    `shared_buffers=${quarter}GB`,
    `effective_cache_size=${Math.ceil(gb / 2)}GB`,
    `maintenance_work_mem=${Math.min(3, quarter)}GB`,
    'work_mem=32MB',
    'max_wal_size=8GB',
    'random_page_cost=1.1',
  ]
}

const shown = [
  'server_version',
  'fsync',
  'synchronous_commit',
  'full_page_writes',
  'shared_buffers',
  'work_mem',
].concat(['maintenance_work_mem', 'effective_cache_size', 'max_wal_size', 'random_page_cost', 'wal_level'])

function databaseOf(url: string, name: string): string {
  const own = new URL(url)
  own.pathname = `/${name}`
  return own.toString()
}

/** @throws where there is no PostgreSQL, or one that may lose what it has acknowledged */
export async function postgresSite(root: string): Promise<Site> {
  const url = process.env.CSTP_BENCH_POSTGRES ?? durablePostgres(settings())?.url
  if (url === undefined) throw new Error(whyNoPostgres)
  const sql = new SQL(url, { max: 1 })
  const rows: { name: string; setting: string }[] = await sql`
    select name, current_setting(name) as setting from pg_settings where name = any(${`{${shown.join(',')}}`}::text[])`
  const found = new Map(rows.map(({ name, setting }) => [name, setting]))
  for (const name of ['fsync', 'synchronous_commit', 'full_page_writes'])
    if (found.get(name) !== 'on') throw new Error(`${name} is ${found.get(name)}: what is measured must be durable`)

  const key = join(root, 'evidence.pem')
  writeFileSync(key, generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }), {
    mode: 0o600,
  })
  let copies = 0
  const made: string[] = []
  const create = async (name: string, template = 'template1') => {
    await sql.unsafe(`create database ${name} template ${template}`)
    made.push(name)
    return databaseOf(url, name)
  }
  const seeded = once(async (name) => {
    const [embedder, size] = name.split('_') as [string, string]
    const database = `cstp_bench_${name}`
    const [there] = await sql`select 1 from pg_database where datname = ${database}`
    if (there) return databaseOf(url, database)
    // What was cut off is made anew: only a whole one gets the name.
    const unfinished = `${database}_seeding`
    await sql.unsafe(`drop database if exists ${unfinished}`)
    await sql.unsafe(`create database ${unfinished}`)
    await runToEnd('test/bench/entries/seed-postgres.ts', [databaseOf(url, unfinished), size, embedder])
    await sql.unsafe(`alter database ${unfinished} rename to ${database}`)
    return databaseOf(url, database)
  })
  const site: Site = {
    store: 'postgres',
    about: `PostgreSQL on the same machine: ${shown.map((name) => `${name} ${found.get(name)}`).join(', ')}.`,
    servers: [1, 2, 3],
    drivers: ['resident'],
    seeded: (size, embedder) => seeded(`${embedder}_${size}`),
    async scratch(size, embedder) {
      const from = new URL(await site.seeded(size, embedder)).pathname.slice(1)
      return create(`cstp_bench_${process.pid}_scratch_${copies++}`, from)
    },
    empty: (name) => create(`cstp_bench_${process.pid}_${name}_${copies++}`),
    env: async (place, _driver, number = 0) => ({
      CSTP_DATA_DIR: join(root, `data${new URL(place).pathname.replaceAll('/', '-')}-${number}`),
      CSTP_STORE_URL: place,
      CSTP_EVIDENCE_KEY: key,
    }),
    discard: async (place) =>
      void (await sql.unsafe(`drop database if exists ${new URL(place).pathname.slice(1)} with (force)`)),
    async close() {
      for (const name of made) await sql.unsafe(`drop database if exists ${name} with (force)`)
      await sql.close()
    },
  }
  return site
}
