/** What a dossier has is compared before it is signed: no edit of it by SQL, without the key, gets into one that verifies. */
import { Database } from 'bun:sqlite'
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Dossier, TrailLine } from '../../../../sdk/schema/dossier.ts'
import { GraphEdge } from '../../../../sdk/schema/graph.ts'
import { attestedCollections } from '../../../../src/domain/ledger/thread/attested.ts'
import { examineThread } from '../../../../src/domain/ledger/thread/examine/examine.ts'
import { verifyDossier } from '../../../../src/verify/dossier.ts'
import { readKey } from '../../../../src/verify/note.ts'
import { decidedStory } from '../../../support/evidence/dossiers.ts'
import { pathsOf, withEdit } from '../../../support/evidence/edits.ts'
import { openSqliteProgram, type TestProgram, testSigner } from '../../../support/program.ts'

let dir: string
let program: TestProgram
let db: Database
let id: string

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'cstp-dossier-'))
  program = await openSqliteProgram(dir)
  const story = await decidedStory(program)
  id = story.id
  await program.call('linkDecisions', { source_id: story.other, target_id: id, edge_type: 'relates_to', context: 'so' })
  await program.services.tracker.flush()
  await program.services.thread.sequence()
  db = new Database(join(dir, 'cstp.db'), { strict: true })
  db.run('pragma synchronous = off')
  const triggers = db.query<{ name: string }, []>(`select name from sqlite_schema where type = 'trigger'`).all()
  for (const { name } of triggers) db.run(`drop trigger ${name}`)
})
afterAll(async () => {
  db.close()
  await program.close()
  await rm(dir, { recursive: true, force: true })
})

type Row = Record<string, unknown>
const key = readKey(testSigner.verifier_key)
const dossier = () => program.call('getDossier', { id }, 'root')

/** Edits each leaf of these columns of a row, one after the other, and looks. */
async function eachEdit(
  { table, columns, row }: { table: string; columns: readonly string[]; row: Row },
  look: (about: string) => Promise<void>,
): Promise<number> {
  let edits = 0
  for (const column of columns) {
    const before = row[column]
    const isJson = typeof before === 'string' && /^[[{]/.test(before)
    const value: unknown = isJson ? JSON.parse(before) : before
    for (const path of pathsOf(value)) {
      const edit = withEdit(value, path)
      const put = (to: unknown) =>
        db.run(`update ${table} set ${column} = ? where rowid = ?`, [to as string, row.row as number])
      put(isJson ? JSON.stringify(edit) : edit)
      await look([table, column, ...path].join('.'))
      put(before)
      edits++
    }
  }
  return edits
}
const rowsOf = (table: string): Row[] => db.query<Row, []>(`select rowid as row, * from ${table}`).all()

/** `refused`, `found` or left open by the verification, or `unseen`; and the dossier unless it is refused. */
async function judged(): Promise<[how: 'refused' | 'found' | 'open' | 'unseen', dossier?: Dossier]> {
  const made = await dossier().catch((error: Error) => error)
  if (made instanceof Error) return ['refused']
  const { findings, checks } = verifyDossier(JSON.stringify(made), { key, witness: null })
  if (findings.length > 0) return ['found', made]
  return [checks.some(({ result }) => result === 'unproved') ? 'open' : 'unseen', made]
}

test('no field of any keyed record that a dossier reads can be edited into one', async () => {
  const { keyed } = program.store
  const read = new Set<string>()
  const { get, list } = keyed
  keyed.get = (collection, ...rest) => {
    read.add(collection)
    return get(collection, ...rest)
  }
  keyed.list = (collection, ...rest) => {
    read.add(collection)
    return list(collection, ...rest)
  }
  expect((await judged())[0]).toBe('unseen')
  Object.assign(keyed, { get, list })
  expect([...read].filter((one) => !attestedCollections.includes(one))).toEqual([])
  let edits = 0
  for (const row of rowsOf('keyed_records').filter(({ collection }) => read.has(String(collection))))
    edits += await eachEdit({ table: 'keyed_records', columns: ['value', 'expires_ms'], row }, async (about) =>
      expect([about, (await judged())[0]]).toEqual([about, 'refused']),
    )
  expect(edits).toBeGreaterThan(50)
})

test('a line of the trail that is edited is refused or left open, and one that is edited out of it is found by the examination', async () => {
  const { trail } = await dossier()
  expect(trail.map(({ method }) => method)).toContain('approval.consumed')
  const columns = Object.keys(TrailLine.entries).filter((name) => name !== 'seq')
  for (const row of rowsOf('audit').filter(({ seq }) => trail.some((line) => line.seq === seq)))
    await eachEdit({ table: 'audit', columns, row }, async (about) => {
      const [how, made] = await judged()
      if (how !== 'unseen') return
      expect([about, made!.trail.some(({ seq }) => seq === row.seq)]).toEqual([about, false])
      const sources = { ...program.store, evidence: program.services.evidence }
      const options = { yieldToEventLoop: async () => {}, now: program.clock.now + 3_600_000 }
      const flaws = await Array.fromAsync(examineThread(sources, options))
      expect([about, flaws.length > 0]).toEqual([about, true])
    })
})

test('an edge is as the record of its source has it', async () => {
  const { links } = await dossier()
  expect(links).toHaveLength(2)
  for (const row of rowsOf('edges'))
    await eachEdit({ table: 'edges', columns: Object.keys(GraphEdge.entries), row }, async (about) => {
      const [how, made] = await judged()
      // Without an act about its source an edge is left out.
      if (how !== 'refused') expect([about, links]).toEqual([about, expect.arrayContaining(made!.links)])
    })
})
