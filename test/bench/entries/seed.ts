/**
 * A child process: fills a data directory with the store's own tables and files, but in large transactions that nothing syncs, and with
 * indexes made at the end: a million decisions by the store's transactions take four times as long. What was cut off goes
 * on where it stopped. Arguments: directory, decisions, name of the embedder, projects.
 */
import { Database } from 'bun:sqlite'
import { closeSync, fstatSync, mkdirSync, openSync, writeSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { yamlOf } from '../../../src/core/yaml.ts'
import { analyse } from '../../../src/domain/search/terms.ts'
import { packVectors } from '../../../src/drivers/store/shared.ts'
import { statementsOf } from '../../../src/drivers/store/sqlite/connect.ts'
import { decisionTable } from '../../../src/drivers/store/sqlite/decisions.ts'
import { openSqliteStore } from '../../../src/drivers/store/sqlite/driver.ts'
import { hashOf, relativePath } from '../../../src/drivers/store/sqlite/files.ts'
import { migrations } from '../../../src/drivers/store/sqlite/migrate.ts'
import { recordOf, vectorMaker } from '../corpus.ts'
import { openEmbedderOf } from '../embedders.ts'

const [dir, given, name, projects] = process.argv.slice(2) as [string, string, string, string | undefined]
const size = Number(given)
const batch = 2_000
const path = join(dir, 'cstp.db')
const filled = ['decisions', 'tags', 'reasons', 'edges', 'embeddings', 'value_totals', 'deltas']

/** Indexes and triggers of the tables that are filled, as a store makes them. */
function definitionsOf(): { type: string; name: string; sql: string }[] {
  const fresh = new Database(':memory:')
  for (const sql of migrations) fresh.run(sql)
  return fresh
    .query<{ type: string; name: string; sql: string }, [string]>(
      `select type, name, sql from sqlite_master where type in ('index', 'trigger') and sql is not null
       and tbl_name in (select value from json_each(?))`,
    )
    .all(JSON.stringify(filled))
}

const embedder = await openEmbedderOf(name)
const vectorsOf = await vectorMaker(embedder)
const definitions = definitionsOf()
if (!(await Bun.file(path).exists())) {
  const store = await openSqliteStore({ dir, analyse, now: Date.now, log: () => {} })
  await store.transaction((tx) => tx.embeddings.start(embedder.id, embedder.effective_dimensions))
  await store.close()
}
const db = new Database(path)
for (const pragma of ['synchronous = OFF', 'cache_size = -500000', 'wal_autocheckpoint = 50000', 'temp_store = MEMORY'])
  db.run(`PRAGMA ${pragma}`)
for (const { type, name } of definitions) db.run(`drop ${type} if exists ${name}`)

const statements = statementsOf(db)
let seq = db.query<{ seq: number }, []>('select coalesce(max(seq), 0) as seq from decisions').get()!.seq
const there = db.query<{ count: number }, []>('select count(*) as count from decisions').get()!.count
const table = decisionTable({ statements, group: { nextSeq: () => ++seq }, analyse })
const { number: generation } = db.query<{ number: number }, []>('select number from generations').get()!
const indexed = statements.prepare<unknown, [number]>('update decisions set indexed = 1 where num = ?')
const addVectors = statements.prepare(
  'insert into embeddings (num, generation, structure, function, both, shared) values (?, ?, ?, ?, ?, ?)',
)
const folders = new Set<string>()

function put(number: number): void {
  const record = recordOf(number, projects === undefined ? undefined : Number(projects))
  const num = table.insert(record, 1)
  const vectors = packVectors(vectorsOf(number))
  addVectors.run(num, generation, vectors.structure, vectors.function, vectors.both, vectors.shared)
  indexed.run(num)
  const file = join(dir, 'decisions', relativePath(record.id))
  if (!folders.has(dirname(file))) mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
  folders.add(dirname(file))
  const content = Buffer.from(yamlOf(record))
  const fd = openSync(file, 'w', 0o600)
  writeSync(fd, content)
  table.setFile(num, { size: content.length, mtime: fstatSync(fd).mtimeMs, hash: hashOf(content) })
  closeSync(fd)
}

for (let from = there; from < size; from += batch)
  db.transaction(() => {
    for (let number = from; number < Math.min(size, from + batch); number++) put(number)
  })()
statements.finalize()
for (const { sql } of definitions) db.run(sql)
db.run('PRAGMA wal_checkpoint(TRUNCATE)')
db.close()
await embedder.close()
