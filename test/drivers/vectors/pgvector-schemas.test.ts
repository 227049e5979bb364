/** Several schemas of one database search their vectors with the one extension that it has, wherever that lies. */
import { expect, setDefaultTimeout, test } from 'bun:test'
import { SQL } from 'bun'
import { openPgvectorVectors } from '../../../src/drivers/vectors/pgvector/driver.ts'
import { freshDatabase, pgvector, whyNoPgvector } from '../../support/postgres.ts'

setDefaultTimeout(60_000)
const server = pgvector()

async function statement(url: string, text: string): Promise<void> {
  const sql = new SQL(url, { max: 1 })
  await sql.unsafe(text).finally(() => sql.close())
}

/** Opens an empty index in the schema and searches it, for which the type and its operators must be found. */
async function search(url: string, schema: string): Promise<unknown> {
  const vectors = await openPgvectorVectors({ url: `${url}?schema=${schema}`, connections: 2 })
  try {
    const index = await vectors.open({ number: 1, embedder: 'test', dimensions: 2 })
    return await index.nearest({ side: 'both', vector: Float32Array.of(1, 0), k: 3, filter: {} })
  } finally {
    await vectors.close()
  }
}

if (server === null) test.skip(`schemas of one database (${whyNoPgvector})`, () => {})
else {
  test('one schema that goes leaves the extension to the others', async () => {
    const url = await freshDatabase(server)
    expect(await search(url, 'one')).toEqual([])
    await statement(url, 'drop schema one cascade')
    expect(await search(url, 'two')).toEqual([])
  })

  test('an extension that somebody put into a schema of its own is found there', async () => {
    const url = await freshDatabase(server)
    await statement(url, 'create schema "My tools"; create extension vector schema "My tools"')
    expect(await search(url, 'one')).toEqual([])
    expect(await search(url, 'two')).toEqual([])
  })
}
