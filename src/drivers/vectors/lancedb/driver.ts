/**
 * The vectors driver for very many decisions and for object storage: one LanceDB table for each generation. LanceDB
 * never calls fsync; a table that lost its last batches in a power failure shows it by its watermark, and the follower applies them again.
 */
import { tmpdir } from 'node:os'
import type { Connection, Table } from '@lancedb/lancedb'
import { StorageError } from '../../../../sdk/storage/errors.ts'
import { checkGeneration } from '../../../../sdk/storage/vector-checks.ts'
import type { Vectors } from '../../../../sdk/storage/vectors.ts'
import { closeQuietly, type Libraries, openLanceIndex, refuse } from './search.ts'
import { tableSchema, toTable } from './table.ts'
import type { Upkeep } from './upkeep.ts'

type Generation = Parameters<Vectors['open']>[0]

export interface LanceOptions {
  /** A folder, or an address of an object store such as `s3://bucket/prefix`. */
  url: string
  /** Settings of the object store, such as `region`, `endpoint`, `access_key_id`. It must honour conditional writes. */
  storage_options?: Record<string, string>
  /** From this many decisions on, searches use an approximate index. [20 000] */
  index_from?: number
  /** Called when an index was trained. */
  log?: Upkeep['log']
}

const INDEX_CACHE_BYTES = 256_000_000n
const METADATA_CACHE_BYTES = 16_000_000n
const MAKING_ATTEMPTS = 8

export async function openLanceVectors({
  url,
  storage_options = {},
  index_from = 20_000,
  log = () => {},
}: LanceOptions): Promise<Vectors> {
  await quietUnlessAsked()
  const libraries = await load()
  const connection = await libraries.lancedb
    .connect(url, {
      storageOptions: storage_options,
      session: new libraries.lancedb.Session(INDEX_CACHE_BYTES, METADATA_CACHE_BYTES),
      // Every read looks for commits of other processes.
      readConsistencyInterval: 0,
    })
    .catch(refuse)

  return {
    driver: 'lancedb',
    immediate: false,
    async open(generation) {
      const table = await openTable(libraries, connection, generation).catch(refuse)
      const held = (await table.schema().catch(refuse)).metadata
      const [embedder, dimensions] = [held.get('cstp_embedder') ?? '', Number(held.get('cstp_dimensions'))]
      checkGeneration({ number: generation.number, embedder, dimensions }, generation)
      return openLanceIndex(libraries, table, dimensions, { index_from, log })
    },
    async keepOnly(number) {
      for (const name of await tableNames(connection).catch(refuse)) {
        if (!/^vectors_g\d+$/.test(name) || name === nameOf(number)) continue
        await connection.dropTable(name).catch(async (error) => {
          // Another process may have been faster.
          if ((await tableNames(connection).catch(refuse)).includes(name)) refuse(error)
        })
      }
    },
    async close() {
      closeQuietly(connection)
    },
  }
}

async function load(): Promise<Libraries> {
  try {
    return { lancedb: await import('@lancedb/lancedb'), arrow: await import('apache-arrow') }
  } catch (error) {
    // The library's message is about npm; its cause is the error of the system.
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error
    const message = `LanceDB (CSTP_VECTOR_URL) does not load; a compiled cstp unpacks it into ${tmpdir()} (TMPDIR), which must be writable, and may have been built without it`
    throw new StorageError('unavailable', message, { cause })
  }
}

const nameOf = (generation: number) => `vectors_g${generation}`

async function openTable({ arrow }: Libraries, connection: Connection, generation: Generation): Promise<Table> {
  const name = nameOf(generation.number)
  // A table of rows loses the metadata of its schema, unless its batch has it too.
  const { RecordBatch, Table } = arrow
  const schema = tableSchema(arrow, generation)
  const [rows] = toTable(arrow, [], 0, generation.dimensions).batches
  const first = new Table(schema, new RecordBatch(schema, rows!.data))
  for (let attempt = 1; ; attempt++) {
    try {
      return await connection.openTable(name).catch((error) => {
        if (!/not found/i.test(String(error))) throw error
        return connection.createTable(name, first)
      })
    } catch (error) {
      // Another process may be making it: it exists, but has no first version yet.
      if (attempt === MAKING_ATTEMPTS || !/exists|conflict/i.test(String(error))) throw error
      await Bun.sleep(25 * attempt)
    }
  }
}

async function tableNames(connection: Connection): Promise<string[]> {
  const names: string[] = []
  let page: string | null | undefined
  do {
    const { tables, pageToken } = await connection.listTables(page ? { pageToken: page } : {})
    names.push(...tables)
    page = pageToken
  } while (page)
  return names
}

/**
 * Limits LanceDB's own log, which goes to stderr in a format of its own, to errors. Native code does not see what is written to
 * `process.env`, so the variable is set in the C library.
 */
async function quietUnlessAsked(): Promise<void> {
  if (process.env.LANCEDB_LOG !== undefined) return
  try {
    const { dlopen, suffix } = await import('bun:ffi')
    const library = process.platform === 'linux' ? 'libc.so.6' : `libSystem.B.${suffix}`
    const { symbols } = dlopen(library, { setenv: { args: ['cstring', 'cstring', 'int'], returns: 'int' } })
    symbols.setenv(Buffer.from('LANCEDB_LOG\0'), Buffer.from('error\0'), 1)
  } catch {
    // Another C library: its warnings are shown.
  }
}
