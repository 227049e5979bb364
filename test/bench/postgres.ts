/**
 * The store for many servers: a database for each size, in a PostgreSQL of its own or in the one that CSTP_BENCH_POSTGRES names. What was
 * seeded stays for the next run in the folder that CSTP_BENCH_DIR names, with the segments of each server.
 */
import { existsSync } from 'node:fs'
import { mkdir, rm } from 'node:fs/promises'
import { totalmem } from 'node:os'
import { join } from 'node:path'
import { $, SQL } from 'bun'
import { searchLocation } from '../../src/app/search.ts'
import { ownKey } from '../../src/core/key-file.ts'
import { durablePostgres, whyNoPostgres } from '../support/postgres.ts'
import type { EmbedderName } from './embedders.ts'
import { runToEnd } from './process.ts'
import { once, type Place, type Site } from './site.ts'

/** What an operator would set on a machine that the database has for itself; all that durability needs is left on. */
function settings(): string[] {
  const gb = Math.max(1, Math.floor(totalmem() / 2 ** 30))
  const quarter = Math.ceil(gb / 4)
  return [
    `shared_buffers=${quarter}GB`,
    `effective_cache_size=${Math.ceil(gb / 2)}GB`,
    `maintenance_work_mem=${Math.min(3, quarter)}GB`,
    'work_mem=32MB',
    'max_wal_size=4GB',
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

const nameOf = (place: Place): string => new URL(place).pathname.slice(1)

/** What a database says of itself once its servers have their segments. */
const complete = 'complete'

/**
 * @param indexed lets the first so many servers write what their search index lacks
 * @throws where there is no PostgreSQL, or one that may lose what it has acknowledged
 */
export async function postgresSite(
  root: string,
  indexed: (place: Place, embedder: EmbedderName, servers: number) => Promise<void> = async () => {},
): Promise<Site> {
  const { CSTP_BENCH_DIR: stays, CSTP_BENCH_POSTGRES: given } = process.env
  const kept = stays ?? root
  const own = given === undefined ? durablePostgres(settings(), stays && join(stays, 'postgres')) : null
  const url = given ?? own?.url
  if (url === undefined) throw new Error(whyNoPostgres)
  const sql = new SQL(url, { max: 1 })
  const rows: { name: string; setting: string }[] = await sql`
    select name, current_setting(name) as setting from pg_settings where name = any(${`{${shown.join(',')}}`}::text[])`
  const found = new Map(rows.map(({ name, setting }) => [name, setting]))
  for (const name of ['fsync', 'synchronous_commit', 'full_page_writes'])
    if (found.get(name) !== 'on') throw new Error(`${name} is ${found.get(name)}: what is measured must be durable`)

  const key = join(kept, 'evidence.pem')
  await ownKey(key, 'the evidence key')
  let copies = 0
  const made: string[] = []
  const create = async (name: string, template = 'template1') => {
    await sql.unsafe(`create database ${name} template ${template}`)
    made.push(name)
    return databaseOf(url, name)
  }
  const drop = (name: string) => sql.unsafe(`drop database if exists ${name} with (force)`)
  const folderOf = (place: Place, number: number) => join(kept, `data-${nameOf(place)}-${number}`)
  const segmentsOf = (place: Place, number: number) =>
    searchLocation({ search_url: null, store_url: place, data_dir: folderOf(place, number) })
  const linked = async (from: Place, ofOne: number, to: Place, ofOther: number) => {
    const [segments, other] = [segmentsOf(from, ofOne), segmentsOf(to, ofOther)]
    if (!existsSync(segments)) return
    await rm(other, { recursive: true, force: true })
    await mkdir(folderOf(to, ofOther), { recursive: true })
    await $`cp -al ${segments} ${other}`
  }
  const remove = async (name: string) => {
    await drop(name)
    const place = databaseOf(url, name)
    for (const number of site.servers.keys()) await rm(folderOf(place, number), { recursive: true, force: true })
  }
  const seeded = once(async (name) => {
    const [embedder, size] = name.split('_') as [EmbedderName, string]
    const database = `cstp_bench_${name}`
    const place = databaseOf(url, database)
    const [there] = await sql`
      select shobj_description(oid, 'pg_database') as state from pg_database where datname = ${database}`
    if (there?.state === complete) return place
    if (there === undefined) {
      // An interrupted seeding starts again: only a complete one gets the name.
      const unfinished = `${database}_seeding`
      await drop(unfinished)
      await sql.unsafe(`create database ${unfinished}`)
      await runToEnd('test/bench/entries/seed.ts', [databaseOf(url, unfinished), size, embedder])
      await sql.unsafe(`alter database ${unfinished} rename to ${database}`)
    }
    // Segments are never written to: the others begin with what the first has written, on the same bytes of the disk.
    await indexed(place, embedder, 1)
    for (const number of site.servers.slice(0, -1)) await linked(place, 0, place, number)
    await indexed(place, embedder, site.servers.length)
    await sql.unsafe(`comment on database ${database} is '${complete}'`)
    return place
  })
  const site: Site = {
    store: 'postgres',
    about: `PostgreSQL on the same machine: ${shown.map((name) => `${name} ${found.get(name)}`).join(', ')}.`,
    servers: [1, 2, 3],
    seeded: (size, embedder) => seeded(`${embedder}_${size}`),
    async scratch(size, embedder) {
      const from = await site.seeded(size, embedder)
      const place = await create(`cstp_bench_${process.pid}_scratch_${copies++}`, nameOf(from))
      for (const number of site.servers.keys()) await linked(from, number, place, number)
      return place
    },
    empty: (name) => create(`cstp_bench_${process.pid}_${name}_${copies++}`),
    env: async (place, number = 0) => ({
      CSTP_DATA_DIR: folderOf(place, number),
      CSTP_STORE_URL: place,
      CSTP_EVIDENCE_KEY: key,
    }),
    async close() {
      for (const name of made) await remove(name)
      await sql.close()
      own?.kill()
    },
  }
  return site
}
