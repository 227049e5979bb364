/** Every column of every table is edited, one row after the other: what decides, counts or says what was is found by the examination. */
import { Database } from 'bun:sqlite'
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Glob } from 'bun'
import ts from 'typescript'
import { attestedCollections } from '../../../../src/domain/ledger/thread/attested.ts'
import { examineThread } from '../../../../src/domain/ledger/thread/examine/examine.ts'
import { openSqliteEvidence } from '../../../../src/drivers/evidence/sqlite/driver.ts'
import { compareFiles, derivedFlaws, readersOf } from '../../../../src/drivers/store/sqlite/inspect.ts'
import { pathsOf, withEdit } from '../../../support/evidence/edits.ts'
import { threadedStory } from '../../../support/evidence/threaded-story.ts'
import { openSqliteProgram } from '../../../support/program.ts'

const root = join(import.meta.dir, '../../../..')

/** Columns whose edit the examination does not find, and why: a new column is found, or has its reason here. */
const unseen: Record<string, string> = {
  'act_checkpoints.number': 'the order of checkpoints, each of which is signed',
  'act_checkpoints.created_at': 'when it was signed, which its note does not say',
  'act_checkpoints.exported': 'whether it was published',
  'audit.seq': 'the number of a line: acts have the order',
  'decisions.seq': 'how far the search index has read',
  'decisions.indexed': 'whether it has vectors, which doctor counts',
  'decisions.file_size': 'whether its file is read again',
  'decisions.file_mtime': 'whether its file is read again',
  'keyed_records.version': 'the number of a write, for writes at the same time',
  ...Object.fromEntries(
    ['generations', 'embeddings', 'search_terms', 'spellings', 'pending_files'].map((table) => [
      `${table}.*`,
      'the search index, and files to be written: what is found, never what it says',
    ]),
  ),
}

let dir: string
let whole: Uint8Array
let now: number

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'cstp-columns-'))
  const program = await openSqliteProgram(dir)
  await threadedStory(program)
  const project = { name: 'team/app', pr: 7, feature: 'search' }
  const reasons = [{ type: 'analysis', text: 'It is fast' }]
  const id = await program.record({ tags: ['risky'], project, reasons, source_key: 'notes/1' }, 'root')
  await program.call('reviewDecision', { id, outcome: 'failure', actual_result: 'It was slow' }, 'bob')
  now = program.clock.now + 3_600_000
  await program.services.tracker.flush()
  await program.services.thread.sequence()
  await program.close()
  const db = new Database(join(dir, 'cstp.db'))
  db.run('PRAGMA journal_mode = DELETE')
  db.close()
  whole = new Uint8Array(await readFile(join(dir, 'cstp.db')))
})
afterAll(() => rm(dir, { recursive: true, force: true }))

type Row = Record<string, string | number | Uint8Array | null>

function edited(value: Row[string]): Row[string] {
  if (typeof value === 'number') return value + 1
  if (value === null) return 'x'
  if (typeof value !== 'string') return Buffer.from(value).fill(7)
  if (!/^[[{]/.test(value)) return `${value}x`
  const json: unknown = JSON.parse(value)
  return JSON.stringify(withEdit(json, [...pathsOf(json)].at(-1)!))
}

/** Whether the examination finds anything in a copy of the store. */
async function isFound(change: (db: Database) => void): Promise<boolean> {
  using db = Database.deserialize(whole, { strict: true })
  for (const { name } of db.query<{ name: string }, []>(`select name from sqlite_schema where type = 'trigger'`).all())
    db.run(`drop trigger ${name}`)
  try {
    change(db)
  } catch {
    // The table itself refuses it.
    return true
  }
  const { close, ...readers } = readersOf(db)
  const evidence = await openSqliteEvidence(join(dir, 'provenance.db'))
  try {
    if ([...derivedFlaws(db)].length + [...compareFiles(db, join(dir, 'decisions'))].length > 0) return true
    for await (const _ of examineThread({ ...readers, evidence }, { yieldToEventLoop: async () => {}, now }))
      return true
    return false
  } catch {
    // What can't be read is found, too.
    return true
  } finally {
    close()
    await evidence.close()
  }
}

test('an edit of any column is found, or it is said why not', async () => {
  expect(await isFound(() => {})).toBe(false)
  const open = new Set<string>()
  const tried = new Set<string>()
  using db = Database.deserialize(whole, { strict: true })
  const tables = db
    .query<{ name: string }, []>(`select name from sqlite_schema where type = 'table' and name not like 'sqlite_%'`)
    .all()
  for (const { name: table } of tables) {
    const columns = db
      .query<{ name: string; pk: number }, []>(`select name, pk from pragma_table_info('${table}')`)
      .all()
    for (const { name } of columns) tried.add(`${table}.${name}`)
    if (unseen[`${table}.*`]) continue
    // Of what was erased, an id is left.
    const keys = columns.filter(({ pk }) => pk > 0).map(({ name }) => name)
    const rows = db
      .query<Row, []>(`select * from ${table}`)
      .all()
      .filter((row) => row.gone !== 2 && (table !== 'keyed_records' || isAttested(row)))
    expect([table, rows.length > 0]).toEqual([table, true])
    for (const { name: column } of columns.filter(({ name }) => !unseen[`${table}.${name}`]))
      for (const row of rows.slice(-4)) {
        const place = keys.map((key) => `${key} = ?`).join(' and ')
        const found = await isFound((copy) =>
          copy.run(`update ${table} set ${column} = ? where ${place}`, [
            edited(row[column]!),
            ...keys.map((key) => row[key]!),
          ] as string[]),
        )
        if (!found) open.add(`${table}.${column}: ${row[column]}`)
      }
  }
  expect([...open]).toEqual([])
  expect(Object.keys(unseen).filter((one) => ![...tried].some((name) => new Glob(one).match(name)))).toEqual([])
})

/** Other keyed records are named below; one that is over may be gone. */
const isAttested = ({ collection, expires_ms }: Row): boolean =>
  attestedCollections.includes(String(collection)) && (expires_ms === null || Number(expires_ms) > now)

test('every collection of keyed records is attested, or the design names it as not attested', async () => {
  const page = await readFile(join(root, 'docs/design/ledger.md'), 'utf8')
  const section = page.split('\n## Keyed records\n')[1]!.split('\n## ')[0]!
  const names: string[] = []
  const files = ['src', 'sdk/storage'].flatMap((folder) => [...new Glob(`${folder}/**/*.ts`).scanSync(root)])
  for (const path of files) {
    const file = ts.createSourceFile(path, await readFile(join(root, path), 'utf8'), ts.ScriptTarget.Latest, true)
    const visit = (node: ts.Node): void => {
      if (
        ts.isVariableDeclaration(node) &&
        /^collections?$|Collections?$/.test(node.name.getText()) &&
        node.initializer
      ) {
        const texts = (inner: ts.Node): void => {
          if (ts.isStringLiteral(inner)) names.push(inner.text)
          ts.forEachChild(inner, texts)
        }
        texts(node.initializer)
      }
      ts.forEachChild(node, visit)
    }
    visit(file)
  }
  expect(names.length).toBeGreaterThan(30)
  expect(names.filter((name) => !section.includes(`\`${name}\``))).toEqual([])
})
