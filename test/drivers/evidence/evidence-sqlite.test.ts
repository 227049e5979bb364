/** The evidence database itself: what it refuses, who may read it, and what processes leave that share it or die. */
import { Database } from 'bun:sqlite'
import { describe, expect, test } from 'bun:test'
import { mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Evidence, EvidenceRecord } from '../../../sdk/storage/evidence.ts'
import { keptLevels, rootOf } from '../../../src/domain/ledger/engine/tree.ts'
import { appendEvents } from '../../../src/domain/ledger/evidence/chain.ts'
import { preimage } from '../../../src/domain/ledger/evidence/hash.ts'
import { openSqliteEvidence } from '../../../src/drivers/evidence/sqlite/driver.ts'
import { logSigner } from '../../support/evidence/note-signers.ts'
import * as fc from '../../support/property.ts'
import { chainOf, eventOf, eventsFrom, freshPath, logOf } from './evidence-tools.ts'

const soak = process.env.CSTP_SOAK === '1'

describe('the database', () => {
  test('holds the table of the contract, and nothing beside what is hashed', async () => {
    const path = freshPath()
    await (await logOf(1, path)).close()
    const db = new Database(path, { readonly: true })
    const columns = db.query<{ name: string; type: string; pk: number }, []>(`pragma table_info('events')`).all()
    expect(columns.map(({ name, type, pk }) => [name, type, pk])).toEqual([
      ['seq', 'INTEGER', 1],
      ...['ts', 'source', 'event_type', 'evidence_class', 'payload', 'prev_hash', 'hash'].map((name) => [
        name,
        'TEXT',
        0,
      ]),
    ] as [string, string, number][])
    expect(db.query('select * from meta').all()).toEqual([{ key: 'chain_format', value: '3' }])
    expect(db.query('pragma journal_mode').get()).toEqual({ journal_mode: 'wal' })
    db.close()
  })

  test('is its owner’s alone', async () => {
    const path = freshPath()
    const evidence = await logOf(1, path)
    for (const name of readdirSync(dirname(path)))
      expect([name, statSync(join(dirname(path), name)).mode & 0o77]).toEqual([name, 0])
    await evidence.close()
  })

  test.each([
    'update events set source = source',
    'update or replace events set seq = 2 where seq = 1',
    'delete from events',
    'delete from events where seq = 70',
    `insert or replace into events select 1, ts, source, event_type, evidence_class, payload, prev_hash, hash from events where seq = 2`,
    `replace into events select 70, ts, source, event_type, evidence_class, payload, prev_hash, hash from events where seq = 2`,
    `insert into events select 72, ts, source, event_type, evidence_class, payload, prev_hash, hash from events where seq = 2`,
    `insert into events select 0, ts, source, event_type, evidence_class, payload, prev_hash, hash from events where seq = 2`,
    `insert into events select null, ts, source, event_type, evidence_class, payload, prev_hash, hash from events where seq = 2`,
    `insert into events select seq, ts, source, event_type, evidence_class, payload, prev_hash, hash from events where seq = 2 on conflict do update set ts = ''`,
    `update nodes set hash = ''`,
    'delete from nodes',
    `replace into nodes values (4, 0, '')`,
    `update checkpoints set note = ''`,
    'delete from checkpoints',
    `replace into checkpoints values (1, 1, '', '', '', 0)`,
    'delete from head',
    `insert into head values (2, 0, '', '')`,
  ])('refuses %s', async (sql) => {
    const path = freshPath()
    const evidence = await logOf(70, path)
    await evidence.saveCheckpoint({ size: 70, head_hash: 'x', note: 'n', created_at: 'c', exported: false })
    const db = new Database(path)
    const before = db.serialize()
    expect(() => db.run(sql)).toThrow(/append-only|constraint/)
    expect(Buffer.compare(db.serialize(), before)).toBe(0)
    db.close()
    await evidence.close()
  })

  test('of a newer program, of another kind, or none at all is refused with its name', async () => {
    const refusal = async (prepare: (db: Database) => void) => {
      const path = freshPath()
      mkdirSync(dirname(path))
      const db = new Database(path)
      prepare(db)
      db.close()
      const error = await openSqliteEvidence(path).catch((thrown: unknown) => thrown)
      expect((error as Error).message).toContain(path)
      return error
    }
    const ours = async (sql: string) => {
      const path = freshPath()
      await (await logOf(1, path)).close()
      const db = new Database(path)
      db.run(sql)
      db.close()
      return openSqliteEvidence(path).catch((thrown: unknown) => thrown)
    }
    const newer = { kind: 'invalid', message: expect.stringContaining('start the newer program') }
    expect(await ours('pragma user_version = 2')).toMatchObject(newer)
    expect(await ours(`update meta set value = '4'`)).toMatchObject(newer)
    expect(await refusal((db) => db.run('create table other (x)'))).toMatchObject({ kind: 'invalid' })
    expect(await refusal((db) => db.run('pragma user_version = 3'))).toMatchObject({ kind: 'invalid' })
    const path = freshPath()
    mkdirSync(dirname(path))
    writeFileSync(path, 'this is no database, but a text of some length that somebody put there'.repeat(20))
    expect(await openSqliteEvidence(path).catch((thrown: unknown) => thrown)).toMatchObject({
      kind: 'corrupt',
      message: expect.stringContaining(path),
    })
    expect(await openSqliteEvidence('/proc/nowhere/provenance.db').catch((thrown: unknown) => thrown)).toMatchObject({
      kind: 'unavailable',
    })
  })

  test('joins the text of each record as it is hashed, whatever is in it', async () => {
    const texts = fc.array(
      fc.string({ unit: 'grapheme', maxLength: 20 }).filter((one) => one.isWellFormed()),
      { minLength: 3, maxLength: 3 },
    )
    await fc.assert(
      fc.asyncProperty(fc.array(texts, { minLength: 1, maxLength: 5 }), async (given) => {
        const evidence = await logOf(0)
        const events = [...given, ['\0\n\r\t\b\f"\\\u001f\u007f', '\u2028é', '🙂']].map(([ts, source, event_type]) =>
          eventOf(1, { ts: ts!, source: source!, event_type: event_type!, payload: JSON.stringify({ ts, source }) }),
        )
        await appendEvents(evidence, events)
        const records = await evidence.read(1, events.length)
        const hasReplacement = records.some((record) => preimage(record).includes('\ufffd'))
        expect(await evidence.hashed!(1, events.length)).toEqual(
          hasReplacement
            ? null
            : records.map((record) => ({ hash: record.hash, prev_hash: record.prev_hash, text: preimage(record) })),
        )
        expect(await evidence.hashed!(1, events.length + 1)).toBeNull()
        await evidence.close()
      }),
      { numRuns: 30 },
    )
  })

  test('keeps events and tree over a restart', async () => {
    const path = freshPath()
    const before = await logOf(130, path)
    const [head, nodes] = [await before.head(), await before.nodes(keptLevels, 0, 10)]
    const note = logSigner().note(130, rootOf(head.frontier))
    await before.saveCheckpoint({ size: 130, head_hash: head.hash, note, created_at: 'c', exported: true })
    await before.close()
    const after = await openSqliteEvidence(path)
    expect([await after.head(), await after.nodes(keptLevels, 0, 10)]).toEqual([head, nodes])
    await appendEvents(after, eventsFrom(131, 70))
    expect(await after.checkpoints()).toHaveLength(1)
    expect(await chainOf(after).verify(null)).toMatchObject({ intact: true, records: 200, expected_hash: head.hash })
    await after.close()
  })

  test('that is closed takes nothing more, and has kept what was under way', async () => {
    const path = freshPath()
    const evidence = await logOf(0, path)
    const appends = Array.from({ length: 50 }, (_, index) => appendEvents(evidence, [eventOf(index)]))
    await evidence.close()
    await Promise.all(appends)
    expect(await appendEvents(evidence, [eventOf(1)]).catch((thrown: unknown) => thrown)).toMatchObject({
      kind: 'unavailable',
    })
    const after = await openSqliteEvidence(path)
    expect((await after.head()).seq).toBe(50)
    await after.close()
  })

  test('that another program holds for a while is waited for', async () => {
    const path = freshPath()
    const evidence = await logOf(1, path)
    const db = new Database(path)
    db.run('BEGIN IMMEDIATE')
    const waiting = [1, 2, 3].map((number) => appendEvents(evidence, [eventOf(number)]))
    await Bun.sleep(50)
    expect((await evidence.read(1, 10)).length).toBe(1)
    db.run('ROLLBACK')
    await Promise.all(waiting)
    expect((await evidence.head()).seq).toBe(4)
    db.close()
    await evidence.close()
  })
})

/** Starts a writer; see `evidence-writer.ts`. */
const startWriter = (path: string, ...args: (string | number)[]) =>
  Bun.spawn([process.execPath, join(import.meta.dir, 'evidence-writer.ts'), path, ...args.map(String)], {
    stdout: 'pipe',
    stderr: 'inherit',
  })

async function all(evidence: Evidence): Promise<EvidenceRecord[]> {
  const records: EvidenceRecord[] = []
  for (;;) {
    const page = await evidence.read(records.length + 1, 5_000)
    records.push(...page)
    if (page.length < 5_000) return records
  }
}

/** Every batch stands whole and together; those that were acknowledged stand where it was said. */
function checkBatches(records: readonly EvidenceRecord[], acknowledged: string): void {
  const starts = new Map<string, number>()
  for (let index = 0; index < records.length; ) {
    const first = records[index]!
    const { batch, size } = JSON.parse(first.payload) as { batch: string; size: number }
    expect(starts.has(batch)).toBe(false)
    starts.set(batch, first.seq)
    for (let at = 0; at < size; at++) expect(records[index++]?.payload).toBe(JSON.stringify({ at, batch, size }))
  }
  for (const [, batch, seq] of acknowledged.matchAll(/^appended (\S+) (\d+)$/gm))
    expect([batch, starts.get(batch!)]).toEqual([batch, Number(seq)])
}

describe('processes', () => {
  test('four that open a new folder at once make one log', async () => {
    const path = freshPath()
    const writers = ['a', 'b', 'c', 'd'].map((name) => startWriter(path, name, 20, 3))
    const texts = await Promise.all(writers.map(({ stdout }) => new Response(stdout).text()))
    for (const writer of writers) expect(await writer.exited).toBe(0)
    const evidence = await openSqliteEvidence(path)
    const records = await all(evidence)
    expect(records).toHaveLength(80)
    checkBatches(records, texts.join(''))
    expect(await chainOf(evidence).verify(null)).toMatchObject({ intact: true, records: 80 })
    await evidence.close()
  })

  test('two that append at once make one chain without a gap', async () => {
    const path = freshPath()
    const each = soak ? 10_000 : 1_500
    // Single events of one, batches of the other.
    const writers = [startWriter(path, 'a', each, 1, 32), startWriter(path, 'b', each, 50, 4)]
    const texts = await Promise.all(writers.map(({ stdout }) => new Response(stdout).text()))
    for (const writer of writers) expect(await writer.exited).toBe(0)
    const evidence = await openSqliteEvidence(path)
    const records = await all(evidence)
    expect(records.map(({ seq }) => seq)).toEqual(Array.from({ length: 2 * each }, (_, index) => index + 1))
    checkBatches(records, texts.join(''))
    expect(await chainOf(evidence).verify(null)).toMatchObject({ intact: true, records: 2 * each })
    await evidence.close()
  })

  test('one that is killed leaves whole batches, and all that it acknowledged', async () => {
    const path = freshPath()
    await (await logOf(0, path)).close()
    let acknowledged = ''
    for (let round = 0; round < (soak ? 30 : 4); round++) {
      const writer = startWriter(path, `r${round}`, 1_000_000, 200, 8)
      const reader = writer.stdout.getReader()
      const decoder = new TextDecoder()
      let text = ''
      // In the middle of its appends, not while it starts.
      const wanted = 1 + Math.floor(Math.random() * 12)
      for (;;) {
        const { value } = await reader.read()
        text += decoder.decode(value, { stream: true })
        if ((text.match(/^appended/gm) ?? []).length >= wanted) break
      }
      await Bun.sleep(Math.random() * 20)
      writer.kill('SIGKILL')
      for (;;) {
        const { value, done } = await reader.read()
        if (done) break
        text += decoder.decode(value, { stream: true })
      }
      await writer.exited
      acknowledged += text
    }
    const evidence = await openSqliteEvidence(path)
    const records = await all(evidence)
    expect(records.length).toBeGreaterThan(100)
    checkBatches(records, acknowledged)
    expect(await chainOf(evidence).verify(null)).toMatchObject({ intact: true, records: records.length })
    await evidence.close()
  })
})
