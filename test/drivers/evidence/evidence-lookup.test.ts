/** Finding records in the SQLite evidence log: the index by pull request, made when it is asked for, and the keys of webhooks. */
import { Database } from 'bun:sqlite'
import { expect, test } from 'bun:test'
import { join } from 'node:path'
import type { Evidence } from '../../../sdk/storage/evidence.ts'
import { appendEvents, follow, type NewEvent } from '../../../src/domain/ledger/evidence/chain.ts'
import { openSqliteEvidence } from '../../../src/drivers/evidence/sqlite/driver.ts'
import { inTemporaryDir } from '../../support/process.ts'

const event = (payload: string, source = 'suite'): NewEvent => ({
  ts: '2026-07-01T10:00:00Z',
  source,
  event_type: 'pr_commit',
  evidence_class: 'observed',
  payload,
})
const numbers = async (log: Evidence, pr: number) => (await log.ofPullRequest(pr, 1, 100_000)).map(({ seq }) => seq)

/** Runs with two connections on one log, as two processes have. */
const withTwo = (work: (one: Evidence, two: Evidence, path: string) => Promise<void>) => () =>
  inTemporaryDir(async (dir) => {
    const path = join(dir, 'provenance.db')
    const [one, two] = [await openSqliteEvidence(path), await openSqliteEvidence(path)]
    try {
      await work(one, two, path)
    } finally {
      await Promise.all([one.close(), two.close()])
    }
  })

test(
  'the index catches up over many steps, with what others append too',
  withTwo(async (one, two) => {
    const events = Array.from({ length: 5_000 }, (_, n) => event(`{"pr_number":${n % 500}}`))
    for (let batch = 0; batch < 5; batch++) await appendEvents(one, events)
    const expected = Array.from({ length: 50 }, (_, n) => n * 500 + 8)
    expect(await numbers(two, 7)).toEqual(expected)
    await appendEvents(one, [event('{"pr_number":7}'), event('{"pr_number":8}')])
    expect(await Promise.all([numbers(one, 7), numbers(two, 7)])).toEqual([
      [...expected, 25_001],
      [...expected, 25_001],
    ])
    expect((await one.ofPullRequest(7, 24_000, 1)).map(({ seq }) => seq)).toEqual([24_008])
  }),
)

test(
  'a payload that was damaged past the program is found under no number and stops nothing',
  withTwo(async (one, two, path) => {
    await appendEvents(
      one,
      [1, 2, 3, 4].map(() => event('{"pr_number":7}')),
    )
    expect(await numbers(one, 7)).toEqual([1, 2, 3, 4])
    await appendEvents(one, [event('{"pr_number":7}'), event('{"pr_number":7}')])
    const db = new Database(path)
    db.run('DROP TRIGGER events_no_update')
    db.run(`UPDATE events SET payload = '{"pr_number":7' WHERE seq IN (2, 5)`)
    db.run(`UPDATE events SET payload = '{"pr_number":8}' WHERE seq = 3`)
    db.close()
    expect(await numbers(two, 7)).toEqual([1, 4, 6])
  }),
)

test(
  'neither keys nor records of webhooks can be changed or removed',
  withTwo(async (one, _, path) => {
    await appendEvents(one, [event('{"delivery_id":"d1"}', 'webhook:suite'), event('{"delivery_id":"d2"}')])
    const db = new Database(path)
    expect(db.query('select field, value, seq from webhook_keys').all()).toEqual([
      { field: 'delivery_id', value: 'd1', seq: 1 },
    ])
    expect(() => db.run('DELETE FROM webhook_keys')).toThrow('append-only')
    expect(() => db.run('UPDATE webhook_keys SET seq = 2')).toThrow('append-only')
    db.close()
  }),
)

test(
  'of appends under one key at once, over two connections and among others, one comes first and the rest see it',
  withTwo(async (one, two) => {
    const once = (log: Evidence, id: string) =>
      log.append(
        (head, known) => follow(head, known.length > 0 ? [] : [event(`{"delivery_id":"${id}"}`, 'webhook:suite')]),
        [{ field: 'delivery_id', value: id }],
      )
    const others = (log: Evidence) => appendEvents(log, [event('{}'), event('{}')])
    await Promise.all(
      Array.from({ length: 60 }, (_, n) => {
        const log = n % 2 === 0 ? one : two
        return n % 3 === 0 ? others(log) : once(log, `d${n % 5}`)
      }),
    )
    const ids = (await one.read(1, 1_000)).flatMap(({ source, payload }) => (source === 'suite' ? [] : [payload]))
    expect(ids.sort()).toEqual(Array.from({ length: 5 }, (_, n) => `{"delivery_id":"d${n}"}`))
  }),
)
