/** Evidence in PostgreSQL: what its tables refuse, and what processes leave that share it, die, or outlive a restart of the database. */
import { describe, expect, setDefaultTimeout, test } from 'bun:test'
import { join } from 'node:path'
import { SQL } from 'bun'
import type { Evidence, EvidenceRecord } from '../../../sdk/storage/evidence.ts'
import { startWalkers } from '../../../src/app/walkers.ts'
import { appendEvents, openChain } from '../../../src/domain/ledger/evidence/chain.ts'
import { openPostgresEvidence } from '../../../src/drivers/evidence/postgres/driver.ts'
import { freshSchema, type Postgres, postgres, whyNoPostgres } from '../../support/postgres.ts'
import { chainOf, eventOf, eventsFrom } from './evidence-tools.ts'

setDefaultTimeout(120_000)

const server = postgres()
if (server === null) test.skip(`evidence in PostgreSQL (${whyNoPostgres})`, () => {})
else describe('evidence in PostgreSQL', () => suite(server))

/** A connection of somebody else on the same tables. */
async function stranger<T>(url: string, work: (run: (sql: string) => Promise<unknown>) => Promise<T>): Promise<T> {
  const schema = new URL(url).searchParams.get('schema')!
  const plain = new URL(url)
  plain.search = ''
  const sql = new SQL({ url: plain.toString(), max: 1, connection: { search_path: schema } })
  try {
    return await work((text) => sql.unsafe(text))
  } finally {
    await sql.close()
  }
}

const allOf = async (evidence: Evidence): Promise<EvidenceRecord[]> => {
  const records: EvidenceRecord[] = []
  for (let page = await evidence.read(1, 1_000); page.length > 0; page = await evidence.read(records.length + 1, 1_000))
    records.push(...page)
  return records
}

function suite(server: Postgres): void {
  const copy = 'ts, source, event_type, evidence_class, payload, prev_hash, hash from events where seq = 2'
  test('refuses what would change, remove or reorder', async () => {
    const url = freshSchema(server)
    const evidence = await openPostgresEvidence({ url })
    await appendEvents(evidence, eventsFrom(1, 70))
    await appendEvents(evidence, [eventOf(71, { source: 'webhook:x', payload: '{"pr_number":7,"sha":"a"}' })])
    await evidence.saveCheckpoint({ size: 70, head_hash: 'x', note: 'n', created_at: 'c', exported: false })
    const before = await allOf(evidence)
    await stranger(url, async (run) => {
      for (const sql of [
        'update events set source = source',
        'delete from events',
        'delete from events where seq = 71',
        'truncate events',
        'truncate events, nodes, checkpoints, webhook_keys, pull_requests, commits, head',
        `insert into events select 73, ${copy}`,
        `insert into events select 0, ${copy}`,
        `insert into events select n, ${copy.replace('where', 'cross join generate_series(72, 74, 2) n where')}`,
        `insert into events select 2, ${copy} on conflict (seq) do update set ts = ''`,
        `update nodes set hash = ''`,
        'delete from nodes',
        'truncate nodes',
        `update checkpoints set note = ''`,
        'delete from checkpoints',
        'truncate checkpoints',
        'delete from webhook_keys',
        'update pull_requests set seq = 1',
        'update commits set seq = 1',
        'delete from head',
        'truncate head',
        `insert into head values (2, 0, '', '')`,
      ])
        expect([sql, await run(sql).catch((thrown: Error) => thrown.message)]).toEqual([
          sql,
          expect.stringMatching(/append-only|constraint/),
        ])
    })
    expect(await allOf(evidence)).toEqual(before)
    expect(await evidence.checkpoints()).toHaveLength(1)
    await evidence.close()
  })

  test('of a newer program or another chain is refused', async () => {
    const refused = async (sql: string) => {
      const url = freshSchema(server)
      await (await openPostgresEvidence({ url })).close()
      await stranger(url, (run) => run(sql))
      return openPostgresEvidence({ url }).catch((thrown: unknown) => thrown)
    }
    const newer = { kind: 'invalid', message: expect.stringContaining('start the newer program') }
    expect(await refused(`update cstp_schema set version = 2`)).toMatchObject(newer)
    expect(await refused(`update evidence_meta set value = '4' where key = 'chain_format'`)).toMatchObject(newer)
  })

  test('refuses to append where the log does not end as its head says', async () => {
    const url = freshSchema(server)
    const evidence = await openPostgresEvidence({ url })
    await appendEvents(evidence, eventsFrom(1, 3))
    await stranger(url, (run) => run('alter table events disable trigger all; delete from events where seq = 3'))
    expect(await appendEvents(evidence, [eventOf(4)]).catch((thrown: unknown) => thrown)).toMatchObject({
      kind: 'corrupt',
    })
    await evidence.close()
  })

  test('programs that start together make the tables once', async () => {
    const url = freshSchema(server)
    const logs = await Promise.all(Array.from({ length: 6 }, () => openPostgresEvidence({ url })))
    await Promise.all(logs.map((log, index) => appendEvents(log, [eventOf(index)])))
    expect((await logs[0]!.head()).seq).toBe(6)
    await Promise.all(logs.map((log) => log.close()))
  })

  test('appends of processes at once form one chain; one that is killed leaves whole batches', async () => {
    const url = freshSchema(server)
    const start = (name: string, count: number) =>
      Bun.spawn([process.execPath, join(import.meta.dir, 'evidence-writer.ts'), url, name, String(count), '5', '8'], {
        stdout: 'pipe',
        stderr: 'inherit',
      })
    const writers = [start('a', 400), start('b', 400), start('c', 100_000)]
    const outputs = writers.map(({ stdout }) => new Response(stdout).text())
    await Promise.all(writers.slice(0, 2).map(({ exited }) => exited))
    writers[2]!.kill('SIGKILL')
    const acknowledged = (await Promise.all(outputs)).flatMap((text) =>
      [...text.matchAll(/^appended (\S+) (\d+)\n/gm)].map(([, batch, first]) => ({ batch, first: Number(first) })),
    )
    const evidence = await openPostgresEvidence({ url })
    const records = await allOf(evidence)
    const payloads = records.map(({ payload }) => JSON.parse(payload) as { at: number; batch: string; size: number })
    for (const { batch, first } of acknowledged) expect(payloads[first - 1]).toMatchObject({ at: 0, batch: batch! })
    const sizes = Map.groupBy(payloads, ({ batch }) => batch)
    for (const [, own] of sizes) expect(own.map(({ at }) => at)).toEqual(own.map((_, at) => at))
    for (const [, own] of sizes) expect(own).toHaveLength(own[0]!.size)
    expect(await chainOf(evidence).verify(null)).toMatchObject({ intact: true, records: records.length })
    await evidence.close()
  })

  test('threads find what one thread finds, and leave no connection behind', async () => {
    const url = freshSchema(server)
    const evidence = await openPostgresEvidence({ url })
    const size = 16_500
    for (let from = 1; from <= size; from += 5_500) await appendEvents(evidence, eventsFrom(from, 5_500))
    const connections = () =>
      stranger(url, async (run) => {
        // The server's own workers, such as autovacuum, come and go.
        const rows = await run(
          `select count(*)::int as count from pg_stat_activity
           where datname = current_database() and backend_type = 'client backend' and application_name = 'cstp'`,
        )
        return (rows as { count: number }[])[0]!.count
      })
    const before = await connections()
    let failed = 0
    const log = Object.assign(() => void failed++, { flush() {} })
    const threaded = () =>
      openChain({
        evidence,
        now: Date.now,
        yieldToEventLoop: async () => {},
        walkers: () => startWalkers(url, 2, log),
      }).verify(null)
    expect(await threaded()).toMatchObject({ intact: true, records: size })
    expect(await threaded()).toEqual(await chainOf(evidence).verify(null))
    await stranger(url, async (run) => {
      await run('alter table events disable trigger all')
      await run(`update events set source = 'gitlab' where seq in (12289, ${size})`)
    })
    expect(await threaded()).toMatchObject({ intact: false, broken_at_seq: 12_289 })
    expect(failed).toBe(0)
    for (const end = Date.now() + 10_000; (await connections()) > before && Date.now() < end; ) await Bun.sleep(50)
    expect(await connections()).toBeLessThanOrEqual(before)
    await evidence.close()
  })

  test('that is closed takes nothing more, and has kept what was under way', async () => {
    const url = freshSchema(server)
    const evidence = await openPostgresEvidence({ url })
    const appends = Array.from({ length: 50 }, (_, index) => appendEvents(evidence, [eventOf(index)]))
    await evidence.close()
    await Promise.all(appends)
    for (const late of [appendEvents(evidence, [eventOf(1)]), evidence.head()])
      expect(await late.catch((thrown: unknown) => thrown)).toMatchObject({ kind: 'unavailable' })
    const after = await openPostgresEvidence({ url })
    expect((await after.head()).seq).toBe(50)
    await after.close()
  })
}
