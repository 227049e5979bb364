/** cstp migrate: everything arrives, both ways; a run that is cut off goes on; a target with something of its own is refused. */

import { afterAll, expect, setDefaultTimeout, test } from 'bun:test'
import { randomBytes } from 'node:crypto'
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { SQL } from 'bun'
import { createAll, oddRecord, recordOf } from '../../sdk/storage/conformance/store/records.ts'
import { readDecision } from '../../sdk/storage/decisions.ts'
import { countKeyed, outboxCollection } from '../../sdk/storage/keyed.ts'
import { digestOf } from '../../src/app/migrate/copy.ts'
import { type MigrateOptions, migrate } from '../../src/app/migrate/migrate.ts'
import { openSide } from '../../src/app/migrate/sides.ts'
import { keptLevels } from '../../src/domain/ledger/engine/tree.ts'
import { appendEvents } from '../../src/domain/ledger/evidence/chain.ts'
import { threaded } from '../../src/domain/ledger/thread/threaded.ts'
import type { Breaker } from '../../src/domain/policy/judge/breaker.ts'
import { putBreaker } from '../../src/domain/policy/judge/breakers.ts'
import { stateId } from '../../src/domain/record/act-ids.ts'
import { resultCollection } from '../../src/domain/record/decision/idempotency.ts'
import { appendInputs, consumeSession } from '../../src/domain/record/deliberation/sessions.ts'
import { queueVectors } from '../../src/domain/search/embeddings.ts'
import { analyse } from '../../src/domain/search/terms.ts'
import { openSqliteEvidence } from '../../src/drivers/evidence/sqlite/driver.ts'
import { openSqliteStore } from '../../src/drivers/store/sqlite/driver.ts'
import { eventsFrom } from '../drivers/evidence/evidence-tools.ts'
import { freshSchema, postgres, whyNoPostgres } from '../support/postgres.ts'
import { bareEnv, cstp, ended, spawn } from '../support/process.ts'

setDefaultTimeout(120_000)

const home = mkdtempSync(join(tmpdir(), 'cstp-migrate-'))
afterAll(() => rmSync(home, { recursive: true, force: true }))
const ttl_ms = 3_600_000
const now_ms = Date.now()

/** A data directory with some of everything. */
async function filled(dir: string): Promise<string> {
  pattern ??= fill(join(home, 'pattern'))
  cpSync(await pattern, dir, { recursive: true })
  return dir
}
let pattern: Promise<string> | null = null

async function fill(dir: string): Promise<string> {
  const randomHex = (bytes: number) => randomBytes(bytes).toString('hex')
  const store = threaded(await openSqliteStore({ dir, analyse, now: Date.now }), { now: Date.now, randomHex }, () => {})
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
    await tx.embeddings.putGeneration({ state: 'building', embedder: 'hash/', dimensions: 3 })
    for (const { id } of records.slice(0, 400))
      await tx.embeddings.put(id, {
        embedder: 'hash/',
        vectors: { structure: side, function: side.map((n) => -n), both: side },
      })
    const [s1, s2] = [
      { key: 's1', agent: 'alice' },
      { key: 's2', agent: 'bob' },
    ]
    await appendInputs(tx, s1, Array(300).fill(input), { now_ms: now_ms - 500, ttl_ms })
    await appendInputs(tx, s1, [], { now_ms, ttl_ms })
    await appendInputs(tx, s2, [input, input], { now_ms, ttl_ms })
    await consumeSession(tx, 's2', records[0]!.id, { now_ms, ttl_ms })
    await appendInputs(tx, s2, [input], { now_ms: now_ms + 1, ttl_ms })
    const breaker: Breaker = {
      scope: 'agent:alice',
      state: 'open',
      reviews_ms: [1, 2],
      failures: [{ decision_id: 'a', at_ms: 2 }],
      opened_by: [],
      opened_ms: 3,
      probe_decision_id: null,
      probe_started_ms: null,
    }
    await putBreaker(tx.keyed, breaker, 0)
    const result = { digest: 'd', result: { a: [1, null, 'Zoë'] } }
    await tx.keyed.put(resultCollection, 'alice', result, { expires_ms: now_ms + 3_600_000 })
    await tx.keyed.put(resultCollection, 'bob', result, { expires_ms: now_ms - 1 })
    for (let index = 0; index < 2_300; index++)
      await tx.append({
        audit: [
          {
            at: new Date(now_ms + index).toISOString(),
            agent: 'alice',
            method: 'cstp.recordDecision',
            request_id: `r${index}`,
            ids: [records[0]!.id],
            allowed: index % 2 === 0 ? null : true,
            rules: ['r'],
            detail: { index },
          },
        ],
      })
  })
  for (const revision of [1, 2]) await store.transaction((tx) => tx.decisions.put(records[0]!, revision))
  await store.transaction((tx) => tx.erase({ acts: [stateId(records[1]!.id, 1)] }))
  await store.close()
  const evidence = await openSqliteEvidence(join(dir, 'provenance.db'))
  await appendEvents(evidence, eventsFrom(1, 2_500))
  const { seq, hash } = await evidence.head()
  await evidence.saveCheckpoint({
    size: seq,
    head_hash: hash,
    note: 'n\n',
    created_at: '2026-07-01T00:00:00.000Z',
    exported: true,
  })
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
      ['audit entries', 1_000],
      ['evidence records', 1_000],
      ['acts', 1_000],
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
    // One keyed record is attested.
    expect(there.acts).toBe(451 + 2 + 1 + 2_300)
    expect(await run(url, back)).toEqual(there)
    expect(yamlOf(back)).toEqual(yamlOf(source))

    const side = await openSide(back, true)
    expect(await digestOf(side)).toEqual(there)
    expect(await side.evidence.nodes(keptLevels, 0, 1_000)).toHaveLength(156)
    // What is written from now on goes on from the acts that were copied.
    const [changed, erased] = [recordOf(1).id, recordOf(2).id]
    expect((await readDecision(side.store.decisions, changed))?.revision).toBe(3)
    expect((await side.store.thread.read({ record_ids: [stateId(erased, 1)] }))[0]).toMatchObject({
      payload: null,
      salt: null,
    })
    const next = threaded(
      side.store,
      { now: Date.now, randomHex: (bytes) => randomBytes(bytes).toString('hex') },
      () => {},
    )
    await next.transaction((tx) => tx.decisions.put(recordOf(1), 3))
    expect((await side.store.thread.ofDecision(changed, 9_999)).at(-1)!.record_id).toBe(stateId(changed, 4))
    expect(await countKeyed(side.store.keyed, outboxCollection)).toBe(51)
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
      'not a data directory',
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
      '451 decisions, 400 with vectors, 2300 audit entries and 2500 evidence records; both sides are equal\n',
    )
    const again = await cstp(['migrate', '--from', dir, '--to', 'env:TARGET'], env)
    expect([again.status, again.err.includes('is not empty'), again.err.includes('h0rse')]).toEqual([1, true, false])
  })

/** The command, killed again and again while it works, until it gets to its end. @returns how often it was killed */
async function killedAgainAndAgain(args: string[], env: Record<string, string>): Promise<number> {
  for (let kills = 0; ; kills++) {
    const child = spawn(['migrate', ...args], env)
    const timer = setTimeout(() => child.kill('SIGKILL'), 300 * 1.6 ** kills)
    const { status, out, err } = await ended(child)
    clearTimeout(timer)
    if (status === 0) {
      expect(out).toContain('both sides are equal')
      return kills
    }
    // The last kill may have come between the final write and the end of the process: then everything has been copied.
    if (kills > 0 && err.includes('has no interrupted migration')) return kills
    expect([status, err]).toEqual([137, ''])
  }
}

if (server !== null) {
  test('a run that is killed anywhere is gone on with, both ways', async () => {
    const source = await filled(join(home, 'killed'))
    const back = join(home, 'killed-back')
    const env = bareEnv(source, { TARGET: freshSchema(server) })
    expect(await killedAgainAndAgain(['--from', source, '--to', 'env:TARGET'], env)).toBeGreaterThan(0)
    expect(await killedAgainAndAgain(['--from', 'env:TARGET', '--to', back], env)).toBeGreaterThan(0)
    const sides = await Promise.all([openSide(source, true), openSide(back, true)])
    expect(await digestOf(sides[1])).toEqual(await digestOf(sides[0]))
    for (const side of sides) await side.close()
  })

  test('what has changed in the source since a run was cut off arrives too', async () => {
    const source = await filled(join(home, 'changing'))
    const url = freshSchema(server)
    const cut = new AbortController()
    const progress = (kind: string) => {
      if (kind === 'evidence records') cut.abort(new Error('cut off'))
    }
    expect(await run(source, url, { signal: cut.signal, progress }).catch((thrown: Error) => thrown.message)).toBe(
      'cut off',
    )
    const side = await openSide(source, true)
    const [one, two] = [recordOf(1), recordOf(2)]
    const vector = Float32Array.of(0, 1, 0, 0)
    await side.store.transaction(async (tx) => {
      const { record, revision } = (await readDecision(tx.decisions, one.id))!
      await tx.decisions.put({ ...record, context: 'changed since' }, revision)
      await tx.embeddings.put(one.id, null)
      await queueVectors(tx, one.id, now_ms)
      await appendInputs(tx, { key: 's1', agent: 'alice' }, [], { now_ms: now_ms + 5, ttl_ms })
      await consumeSession(tx, 's2', two.id, { now_ms: now_ms + 6, ttl_ms })
    })
    await side.close()
    const there = await run(source, url)
    expect(there).toMatchObject({ decisions: 451, vectors: 399 })

    // Another embedder since: a second target, cut off before, and one that was being built and is left behind.
    const other = freshSchema(server)
    const again = new AbortController()
    const stop = (kind: string) => {
      if (kind === 'audit entries') again.abort(new Error('cut off'))
    }
    await run(source, other, { signal: again.signal, progress: stop }).catch(() => {})
    const moved = await openSide(source, true)
    await moved.store.transaction(async (tx) => {
      const { number } = await tx.embeddings.putGeneration({ state: 'building', embedder: 'another/', dimensions: 4 })
      await tx.embeddings.put(one.id, {
        embedder: 'another/',
        vectors: { structure: vector, function: vector, both: vector },
      })
      await tx.embeddings.putGeneration({ state: 'active', number: number })
      await tx.embeddings.putGeneration({ state: 'building', embedder: 'unfinished/', dimensions: 3 })
    })
    await moved.close()
    expect(await run(source, other)).toMatchObject({ decisions: 451, vectors: 1 })
    const target = await openSide(other, true)
    expect((await target.store.feed.head()).active).toMatchObject({ embedder: 'another/', dimensions: 4 })
    expect((await target.store.feed.head()).building).toBeNull()
    // Every decision without vectors is in the outbox, also those of the earlier run; a reindex starts as usual.
    expect(await countKeyed(target.store.keyed, outboxCollection)).toBe(451)
    const begun = await target.store.transaction((tx) =>
      tx.embeddings.putGeneration({ state: 'building', embedder: 'unfinished/', dimensions: 3 }),
    )
    expect(begun.state).toBe('building')
    // Revisions are counted from the start, but no client holds one longer than a call: updates continue from the stored ones.
    await target.store.transaction(async (tx) => {
      const { record, revision } = (await readDecision(tx.decisions, one.id))!
      expect(record.context).toBe('changed since')
      await tx.decisions.put({ ...record, context: 'and again' }, revision)
    })
    await target.close()
  })

  test('a copy that is not the same is refused, and says where', async () => {
    const source = await filled(join(home, 'tampered'))
    const url = freshSchema(server)
    const cut = new AbortController()
    const progress = (kind: string, done: number) => {
      if (kind === 'evidence records' && done >= 2_500) cut.abort(new Error('cut off'))
    }
    await run(source, url, { progress, signal: cut.signal }).catch(() => {})
    const own = new URL(url)
    const schema = own.searchParams.get('schema')!
    own.searchParams.delete('schema')
    const sql = new SQL(own.toString(), { max: 1 })
    await sql.unsafe(`set search_path to ${schema}`)
    // Without the triggers, as the owner of the database could.
    await sql.unsafe('set session_replication_role = replica')
    await sql.unsafe(`update audit set entry = replace(entry::text, '"r7"', '"r8"')::json where seq = 8`)
    await sql.unsafe(`update events set payload = payload || ' ' where seq = 900`)
    await sql.unsafe(
      `insert into checkpoints (size, head_hash, note, created_at, exported) values (1, 'x', 'n', 'then', false)`,
    )
    await sql.close()
    expect(await run(source, url).catch((thrown: Error) => thrown.message)).toContain(
      'differ in audit_sha256, evidence_sha256, checkpoints_sha256: stop the servers',
    )
  })
}
