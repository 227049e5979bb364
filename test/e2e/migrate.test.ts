/** cstp migrate: everything arrives, both ways; a run that is cut off goes on; a target with something of its own is refused. */
import { afterAll, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createAll, oddRecord, recordOf } from '../../sdk/storage/conformance/store/records.ts'
import { appendEvents } from '../../src/domain/evidence/chain.ts'
import { keptLevels } from '../../src/domain/evidence/tree.ts'
import { analyse } from '../../src/domain/terms.ts'
import { openSqliteEvidence } from '../../src/drivers/evidence/sqlite.ts'
import { openSqliteStore } from '../../src/drivers/store/sqlite.ts'
import { digestOf } from '../../src/server/migrate/digest.ts'
import { type MigrateOptions, migrate } from '../../src/server/migrate/migrate.ts'
import { openSide } from '../../src/server/migrate/side.ts'
import { eventsFrom } from '../drivers/evidence-tools.ts'
import { freshSchema, postgres, whyNoPostgres } from '../postgres.ts'
import { bareEnv, cstp } from './program.ts'

setDefaultTimeout(120_000)

const home = mkdtempSync(join(tmpdir(), 'cstp-migrate-'))
afterAll(() => rmSync(home, { recursive: true, force: true }))
const now_ms = Date.now()

/** A data directory with some of everything. */
async function filled(dir: string): Promise<string> {
  const store = await openSqliteStore({ dir, analyse, now: Date.now })
  const records = [...Array.from({ length: 450 }, (_, index) => recordOf(index + 1)), oddRecord(1_000)]
  await createAll(store, records)
  const side = Float32Array.of(0.6, 0.8, 0)
  const input = {
    id: 'i',
    type: 'note',
    text: 'a\u0000b',
    source: 's',
    timestamp: '2026-07-01T00:00:00.000Z',
    data: { n: 1 },
  }
  await store.transaction(async (tx) => {
    await tx.embeddings.start('hash/', 3)
    for (const { id } of records.slice(0, 400))
      await tx.embeddings.put(id, 'hash/', { structure: side, function: side.map((n) => -n), both: side })
    await tx.sessions.append('s1', 'alice', [input, input, input], 2, now_ms - 500)
    await tx.sessions.append('s1', 'alice', [], 2, now_ms)
    await tx.sessions.append('s2', 'bob', [input, input], 5, now_ms)
    await tx.sessions.consume('s2', records[0]!.id, now_ms)
    await tx.sessions.append('s2', 'bob', [input], 5, now_ms + 1)
    await tx.breakers.put({
      scope: 'agent:alice',
      state: 'open',
      reviews_ms: [1, 2],
      failures_ms: [2],
      opened_ms: 3,
      probe_decision_id: null,
      probe_started_ms: null,
    })
    await tx.idempotency.put('alice', 'k', { digest: 'd', result: { a: [1, null, 'Zoë'] } }, now_ms + 3_600_000)
    await tx.idempotency.put('bob', 'gone', { digest: 'd', result: 1 }, now_ms - 1)
    for (let index = 0; index < 2_300; index++)
      await tx.audit.append({
        at: new Date(now_ms + index).toISOString(),
        agent: 'alice',
        method: 'cstp.recordDecision',
        request_id: `r${index}`,
        ids: [records[0]!.id],
        allowed: index % 2 === 0 ? null : true,
        rules: ['r'],
        detail: { index },
      })
  })
  await store.close()
  const evidence = await openSqliteEvidence(join(dir, 'provenance.db'))
  await appendEvents(evidence, eventsFrom(1, 2_500))
  const { seq, hash } = await evidence.head()
  await evidence.saveCheckpoint({ size: seq, head_hash: hash, note: 'n\n', created_at: '2026-07-01T00:00:00.000Z' })
  await evidence.close()
  return dir
}

const yamlOf = (dir: string): Record<string, string> =>
  Object.fromEntries(
    readdirSync(join(dir, 'decisions'), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.yaml'))
      .sort()
      .map((name) => [name, readFileSync(join(dir, 'decisions', name), 'utf8')]),
  )

const run = (from: string, to: string, more: Partial<MigrateOptions> = {}) =>
  migrate({ from, to, now_ms, signal: new AbortController().signal, progress: () => {}, ...more })

const server = postgres()
if (server === null) test.skip(`cstp migrate (${whyNoPostgres})`, () => {})
else
  test('there and back everything is as it was, also when it is cut off again and again', async () => {
    const [source, back] = [await filled(join(home, 'source')), join(home, 'back')]
    const url = freshSchema(server)

    // Cut off within each kind; the next run goes on.
    for (const [kind, count] of [
      ['decisions', 200],
      ['vectors', 200],
      ['audit lines', 1_000],
      ['evidence records', 1_000],
    ] as const) {
      const cut = new AbortController()
      const progress = (of: string, done: number) => {
        if (of === kind && done >= count) cut.abort(new Error('cut off'))
      }
      expect(await run(source, url, { signal: cut.signal, progress }).catch((thrown: Error) => thrown.message)).toBe(
        'cut off',
      )
    }
    const there = await run(source, url)
    expect(there).toMatchObject({ decisions: 451, vectors: 400, audit_lines: 2_300, evidence_records: 2_500 })
    expect(await run(url, back)).toEqual(there)
    expect(yamlOf(back)).toEqual(yamlOf(source))

    const side = await openSide(back, true)
    expect(await digestOf(side, now_ms)).toEqual(there)
    expect(await side.evidence.nodes(keptLevels, 0, 1_000)).toHaveLength(156)
    expect(await side.store.outbox.depth()).toBe(51)
    const id = recordOf(2).id
    const edges = await side.store.edges.of([id], { direction: 'both', limit: 100 })
    await side.close()
    const first = await openSide(source, true)
    expect(edges).toEqual(await first.store.edges.of([id], { direction: 'both', limit: 100 }))
    await first.close()

    // Done is done, and what is somebody else's stays so.
    for (const target of [url, back])
      expect(await run(source, target).catch((thrown: Error) => thrown.message)).toContain('is not empty')
    expect(await run(join(home, 'nowhere'), url).catch((thrown: Error) => thrown.message)).toContain(
      'no data directory',
    )
  })

if (server !== null)
  test('the command takes the address of a variable, and shows no password', async () => {
    const dir = await filled(join(home, 'command'))
    const own = new URL(freshSchema(server))
    own.password = 'h0rse'
    const env = bareEnv(dir, { TARGET: own.toString() })
    const { status, out, err } = await cstp(['migrate', '--from', dir, '--to', 'env:TARGET'], env)
    expect([status, err]).toEqual([0, ''])
    expect(out).toBe(
      '451 decisions, 400 with vectors, 2300 audit lines and 2500 evidence records; both sides are equal\n',
    )
    const again = await cstp(['migrate', '--from', dir, '--to', 'env:TARGET'], env)
    expect([again.status, again.err.includes('is not empty'), again.err.includes('h0rse')]).toEqual([1, true, false])
  })
