/** Several installations in one database: each sees the tables of its own schema, whatever `public` holds. */

import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { SQL } from 'bun'
import { createAll, idOf, recordOf, suiteOptions } from '../../../sdk/storage/conformance/store/records.ts'
import { countDecisions } from '../../../sdk/storage/groups.ts'
import { migrate } from '../../../src/app/migrate/migrate.ts'
import { appendEvents } from '../../../src/domain/ledger/evidence/chain.ts'
import { openPostgresEvidence, openPostgresEvidenceReader } from '../../../src/drivers/evidence/postgres/driver.ts'
import { openPostgresStore } from '../../../src/drivers/store/postgres/driver.ts'
import { inspectPostgres, openReaders } from '../../../src/drivers/store/postgres/inspect.ts'
import { freshDatabase, type Postgres, postgres, whyNoPostgres } from '../../support/postgres.ts'
import { emptySchema, laidBack } from '../../support/schemas.ts'
import { eventsFrom } from '../evidence/evidence-tools.ts'

setDefaultTimeout(120_000)

const server = postgres()
if (server === null) test.skip(`schemas of one database (${whyNoPostgres})`, () => {})
else describe('schemas of one database', () => suite(server))

async function fill(url: string, decisions: number, events: number): Promise<void> {
  const store = await openPostgresStore({ ...suiteOptions, url })
  await createAll(
    store,
    Array.from({ length: decisions }, (_, index) => recordOf(index + 1)),
  )
  await store.close()
  const evidence = await openPostgresEvidence({ url })
  await appendEvents(evidence, eventsFrom(1, events))
  await evidence.close()
}

/** Decisions, evidence records and names of tables of a schema, read past the drivers. */
async function contentOf(url: string, schema: string) {
  const sql = new SQL(url, { max: 1 })
  try {
    const tables = (
      await sql.unsafe(`select tablename from pg_tables where schemaname = '${schema}' order by tablename`)
    ).map(({ tablename }: { tablename: string }) => tablename)
    const count = async (table: string) =>
      tables.includes(table) ? (await sql.unsafe(`select count(*)::int as n from ${schema}.${table}`))[0].n : null
    return { tables, decisions: await count('decisions'), events: await count('events') }
  } finally {
    await sql.close()
  }
}

/** Every row of every table, and where its sequences stand. */
async function stateOf(url: string): Promise<unknown> {
  const schema = new URL(url).searchParams.get('schema')
  const sql = new SQL(url.split('?')[0]!, { max: 1 })
  const tables = await sql.unsafe(`select tablename as name from pg_tables where schemaname = '${schema}' order by 1`)
  const rows = tables.map(({ name }: { name: string }) => sql.unsafe(`select * from ${schema}.${name}`))
  const stand = `select sequencename, last_value from pg_sequences where schemaname = '${schema}' order by 1`
  return Promise.all([tables, sql.unsafe(stand), ...rows]).finally(() => sql.close())
}

async function statement(url: string, text: string): Promise<void> {
  const sql = new SQL(url, { max: 1 })
  await sql.unsafe(text).finally(() => sql.close())
}

function suite(database: Postgres): void {
  const home = mkdtempSync(join(tmpdir(), 'cstp-schemas-'))
  let base: string
  const inSchema = (schema: string) => `${base}?schema=${schema}`
  let filled: Awaited<ReturnType<typeof contentOf>>

  beforeAll(async () => {
    base = await freshDatabase(database)
    await fill(base, 3, 5)
    filled = await contentOf(base, 'public')
    expect(filled).toMatchObject({ decisions: 3, events: 5 })
  })
  afterAll(async () => {
    rmSync(home, { recursive: true, force: true })
    expect(await contentOf(base, 'public')).toEqual(filled)
  })

  test('doctor finds no tables in a schema that is missing or empty', async () => {
    await statement(base, 'create schema empty')
    for (const schema of ['missing', 'empty']) {
      expect(await inspectPostgres(inSchema(schema))).toMatchObject({ version: null, vectors: null })
      expect(await openPostgresEvidenceReader(inSchema(schema))).toBeNull()
    }
    expect((await inspectPostgres(base)).vectors?.decisions).toBe(3)
  })

  test('a second server has a memory and a chain of its own', async () => {
    await fill(inSchema('second'), 1, 2)
    expect(await contentOf(base, 'second')).toEqual({ tables: filled.tables, decisions: 1, events: 2 })
    expect((await inspectPostgres(inSchema('second'))).vectors?.decisions).toBe(1)
    const { feed, close } = (await openReaders(inSchema('second')))!
    const { seq } = await feed.head()
    expect((await feed.since(0, 0, 10)).map(({ id, ...entry }) => [id, entry.seq])).toEqual([[idOf(1), seq]])
    await close()
  })

  test('a server whose schema is dropped fails, and does not go on in public', async () => {
    const url = inSchema('dropped')
    const store = await openPostgresStore({ ...suiteOptions, url })
    const evidence = await openPostgresEvidence({ url })
    await statement(base, 'drop schema dropped cascade')
    for (const work of [
      () => countDecisions(store.decisions, {}),
      () => createAll(store, [recordOf(9)]),
      () => evidence.head(),
      () => appendEvents(evidence, eventsFrom(1, 1)),
    ])
      expect(String(await work().catch((thrown: unknown) => thrown))).toContain('does not exist')
    await evidence.close()
    await store.close()
  })

  test('a schema that another test of methods used is as new', async () => {
    const asNew = await stateOf(await emptySchema(database))
    const url = await emptySchema(database)
    await fill(url, 3, 5)
    expect(await stateOf(url)).not.toEqual(asNew)
    laidBack(url)
    expect(await emptySchema(database)).toBe(url)
    expect(await stateOf(url)).toEqual(asNew)
    await fill(url, 1, 2)
  })

  test('migrate copies from and into the schema that is named', async () => {
    const run = (from: string, to: string) =>
      migrate({ from, to, now_ms: Date.now(), signal: new AbortController().signal, progress: () => {} })
    expect(await run(base, inSchema('copy'))).toMatchObject({ decisions: 3, evidence_records: 5 })
    await fill(inSchema('other'), 1, 2)
    expect(await run(inSchema('other'), join(home, 'back'))).toMatchObject({ decisions: 1, evidence_records: 2 })
  })
}
