/** cstp.recordDecision sent again, imported, or with the embedder away, on every store. */

import { describe, expect, test } from 'bun:test'
import { readDecision } from '../../sdk/storage/decisions.ts'
import { countDecisions } from '../../sdk/storage/groups.ts'
import { countKeyed, outboxCollection } from '../../sdk/storage/keyed.ts'
import { forEachBackend } from '../support/program.ts'

const required = { decision: 'Use SQLite for the catalogue', confidence: 0.8, category: 'architecture' }

forEachBackend((open) => {
  describe('an import', () => {
    const imported = {
      ...required,
      created_at: '2025-03-04T05:06:07.5+02:00',
      recorded_by: 'carol',
      source_key: 'jira-1',
    }

    test.each(['created_at', 'recorded_by', 'source_key'] as const)('%s needs the scope admin', async (field) => {
      const { refused, store } = await open()
      expect(await refused('recordDecision', { ...required, [field]: imported[field] })).toMatchObject({
        error: 'forbidden',
        message: expect.stringContaining(field),
      })
      expect(await countDecisions(store.decisions, {})).toBe(0)
    })

    test('of one source key ten times at once is one, also over two servers', async () => {
      const one = await open()
      const two = await one.second()
      const results = await Promise.all(
        Array.from({ length: 10 }, (_, index) => (index % 2 ? one : two).call('recordDecision', imported, 'root')),
      )
      expect(new Set(results.map(({ decision_id }) => decision_id)).size).toBe(1)
      expect(results.filter(({ existing }) => !existing)).toHaveLength(1)
      expect(await countDecisions(one.store.decisions, {})).toBe(1)
    })

    test('with an idempotency key too obeys both', async () => {
      const { call, refused } = await open()
      const first = await call('recordDecision', { ...imported, idempotency_key: 'k' }, 'root')
      expect(await call('recordDecision', { ...imported, idempotency_key: 'k' }, 'root')).toEqual({
        ...first,
        replayed: true,
      })
      expect(
        await refused('recordDecision', { ...imported, confidence: 1, idempotency_key: 'k' }, 'root'),
      ).toMatchObject({
        error: 'invalid_params',
      })
    })

    test.each([
      ['2026-07-01T12:00:00.001Z', 'the future'],
      ['2026-07-02', 'tomorrow'],
      ['2026-02-30', 'no day'],
      ['2026-07-01T10:00:00', 'no zone'],
      ['0000-01-01T00:00:00+05:00', 'a year before 0'],
      ['yesterday', 'a word'],
      ['', 'nothing'],
    ])('created at %j is refused: %s', async (created_at) => {
      const { refused } = await open()
      expect(await refused('recordDecision', { ...required, created_at }, 'root')).toMatchObject({
        error: 'invalid_params',
        data: { issues: [{ path: 'created_at' }] },
      })
    })
  })

  describe.each(['away', 'hangs'] as const)('while the embedder is %s', (health) => {
    test('a record is stored, found by keyword at once, and by meaning when the embedder is back', async () => {
      const { call, embedder, services, store } = await open()
      embedder.health = health
      const { decision_id, indexed, success } = await call('recordDecision', required)
      expect({ success, indexed }).toEqual({ success: true, indexed: false })
      const ask = async (retrieval_mode: string) => {
        const { decisions, total } = await call('queryDecisions', { query: 'SQLite catalogue', retrieval_mode })
        return { ids: decisions.map(({ id }) => id), total }
      }
      expect(await ask('keyword')).toEqual({ ids: [decision_id], total: 1 })
      expect(await countKeyed(store.keyed, outboxCollection)).toBe(1)
      embedder.health = 'up'
      expect(await ask('semantic')).toEqual({ ids: [], total: 0 })
      expect(await ask('hybrid')).toEqual({ ids: [decision_id], total: 1 })
      expect(await services.outbox.drain()).toBe(1)
      expect(await ask('semantic')).toEqual({ ids: [decision_id], total: 1 })
      expect(await countKeyed(store.keyed, outboxCollection)).toBe(0)
    })
  })

  test('the outbox tries again with growing pauses, and one update in between loses nothing', async () => {
    const { call, record, embedder, services, clock, store } = await open()
    embedder.health = 'away'
    const id = await record()
    expect(await services.outbox.drain()).toBe(0)
    embedder.health = 'up'
    expect(await services.outbox.drain()).toBe(0)
    clock.now += 60_000
    await call('updateDecision', { id, updates: { tags: ['later'] } })
    expect(await services.outbox.drain()).toBe(1)
    expect((await readDecision(store.decisions, id))?.indexed).toBe(true)
  })

  test('while the vectors in store are another embedder’s, a record is kept for later', async () => {
    const { call, record, embedder, store } = await open()
    await record()
    embedder.id = 'other/1'
    const { decision_id, indexed } = await call('recordDecision', required)
    expect(indexed).toBe(false)
    expect(await countKeyed(store.keyed, outboxCollection)).toBe(1)
    expect((await readDecision(store.decisions, decision_id))?.indexed).toBe(false)
  })
})
