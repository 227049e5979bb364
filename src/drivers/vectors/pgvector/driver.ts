/**
 * The vectors driver for PostgreSQL with pgvector: one table for each generation, searched by HNSW and filtered before ranking. All
 * servers share it; what one has applied, the others find applied.
 */
import { StorageError } from '../../../../sdk/storage/errors.ts'
import { checkGeneration } from '../../../../sdk/storage/vector-checks.ts'
import type { Vectors } from '../../../../sdk/storage/vectors.ts'
import { connect } from '../../shared/postgres/client.ts'
import { openPgvectorIndex, refuse } from './search.ts'
import { lockOf, tableSql } from './table.ts'

export interface PgvectorOptions {
  /** `postgres://user:password@host:port/database`; `?schema=` names the schema. */
  url: string
  /** Connections at most. [8] */
  connections?: number
  /** How long the database may work on a statement. [30 000] */
  statement_timeout_ms?: number
  /** From this many decisions on, searches use HNSW instead of comparing every vector. [5 000] */
  index_from?: number
}

/** HNSW continues until enough of what it finds passes the filter, in order of distance, this many candidates at a time. */
const searchSettings = { 'hnsw.iterative_scan': 'strict_order', 'hnsw.ef_search': '100' }

/** @throws StorageError `unavailable` when the database can't be reached or has no pgvector */
export async function openPgvectorVectors({
  url,
  connections = 8,
  statement_timeout_ms = 30_000,
  index_from = 5_000,
}: PgvectorOptions): Promise<Vectors> {
  const extension = await extensionSchema(url)
  const client = await connect({ url, connections, statement_timeout_ms, settings: searchSettings })
  await client
    .begin(async (query) => {
      await query(lockOf('tables'))
      await query(
        `create table if not exists vector_indexes (generation int primary key, embedder text not null, dimensions int not null,
           watermark bigint not null default 0)`,
      )
    })
    .catch(async (error) => {
      await client.close()
      refuse('cannot make the tables of vectors')(error)
    })
  return {
    driver: 'pgvector',
    immediate: true,
    async open({ number, embedder, dimensions }) {
      const held = await client
        .begin(async (query) => {
          await query(lockOf('tables'))
          await query(
            `insert into vector_indexes (generation, embedder, dimensions) values ($1::int, $2, $3::int)
             on conflict do nothing`,
            [number, embedder, dimensions],
          )
          const [row] = await query<{ embedder: string; dimensions: number }>(
            'select embedder, dimensions from vector_indexes where generation = $1::int',
            [number],
          )
          for (const statement of tableSql(number, row!.dimensions, extension)) await query(statement)
          return row!
        })
        .catch(refuse('cannot open the vectors'))
      checkGeneration({ number, ...held }, { embedder, dimensions })
      return openPgvectorIndex({ client, extension, number, dimensions, index_from })
    },
    async keepOnly(generation) {
      await client
        .begin(async (query) => {
          await query(lockOf('tables'))
          const others = await query<{ generation: number }>(
            'delete from vector_indexes where generation <> $1::int returning generation',
            [generation],
          )
          for (const other of others) await query(`drop table if exists vectors_g${other.generation}`)
        })
        .catch(refuse('cannot remove old vectors'))
    },
    close: () => client.close(),
  }
}

/**
 * The schema of the extension pgvector, as an SQL name: a database has one of it, for all its schemas. If there is none it is created, outside of
 * our own schema if possible, so that ours can be dropped without it.
 * @throws StorageError `unavailable` when the database can't be reached or has no pgvector
 */
async function extensionSchema(url: string): Promise<string> {
  const client = await connect({ url, connections: 1, statement_timeout_ms: 30_000 })
  try {
    return await client.begin(async (query) => {
      await query(lockOf('tables'))
      const [open] = await query(
        "select from pg_namespace where nspname = 'public' and has_schema_privilege(oid, 'create')",
      )
      await query(`create extension if not exists vector ${open ? 'schema public' : ''}`)
      const [found] = await query<{ name: string }>(
        "select quote_ident(nspname) as name from pg_extension e join pg_namespace n on n.oid = e.extnamespace where extname = 'vector'",
      )
      return found!.name
    })
  } catch (error) {
    const message = 'pgvector can not be used in this database: is the extension vector installed?'
    throw new StorageError('unavailable', message, { cause: error })
  } finally {
    await client.close()
  }
}
