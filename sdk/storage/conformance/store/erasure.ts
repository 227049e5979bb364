/** Store suite: erasing decisions, and the detail of audit entries. */

import { mostRedacted } from '../../audit.ts'
import { readDecision } from '../../decisions.ts'
import { countBy, countDecisions, outcomeGroups, reasonGroups } from '../../groups.ts'
import type { AuditEntry, Store } from '../../store.ts'
import type { Kit } from './kit.ts'
import { createAll, idOf, recordOf } from './records.ts'

const vector = Float32Array.from([1, 0])
const vectors = { structure: vector, function: vector, both: vector }

const line = (detail: unknown): AuditEntry => ({
  at: '2026-01-01T00:00:00.000Z',
  agent: 'ada',
  method: 'cstp.test',
  request_id: 'r',
  ids: [idOf(1)],
  allowed: true,
  rules: ['one'],
  detail,
})

/** The results of all reads of decisions. */
const seen = async ({ decisions, edges }: Store) => ({
  one: await readDecision(decisions, idOf(1)),
  texts: (await decisions.get([idOf(0), idOf(1)])).map(({ id }) => id),
  found: await decisions.find({ prefix: idOf(1).slice(0, 22), limit: 5 }),
  listed: (await decisions.list({ filter: {}, sort: 'created_at', order: 'asc', offset: 0, limit: 9 })).texts.map(
    ({ id }) => id,
  ),
  walked: (await decisions.walk({}, null, 9)).map(({ id }) => id),
  count: await countDecisions(decisions, {}),
  categories: await countBy(decisions, {}, 'category'),
  projects: await countBy(decisions, {}, 'project'),
  tags: await countBy(decisions, {}, 'tag'),
  outcomes: await outcomeGroups(decisions, {}),
  reasons: await reasonGroups(decisions),
  source: await decisions.find({ source_key: 'elsewhere#1' }),
  outgoing: await edges.of([idOf(1)], { direction: 'outgoing', limit: 9 }),
})

export function testErasure({ onEmpty, expect, refused, refusedIn, shared }: Kit): void {
  const link = {
    edge_type: 'relates_to',
    weight: 1,
    context: 'why',
    created_at: '',
    created_by: 'ada',
    effective: true,
  }

  onEmpty('an erased decision is as if it had never been, but in the feed', async (store, again) => {
    const others = [recordOf(0, { links: [{ ...link, target_id: idOf(1), edge_type: 'relates_to' }] }), recordOf(2)]
    await createAll(store, others)
    const without = await seen(store)
    const mine = recordOf(1, {
      category: 'only here',
      project: { name: 'only/here', feature: 'only', pr: 7, files: [] },
      tags: ['only'],
      source_key: 'elsewhere#1',
      status: 'reviewed',
      outcome: 'failure',
      reasons: [{ type: 'only', text: 'here', strength: 1 }],
      links: [{ ...link, target_id: idOf(0), edge_type: 'relates_to' }],
    })
    await createAll(store, [mine])
    await store.transaction(async (tx) => {
      const { embedder } = await tx.embeddings.putGeneration({ state: 'building', embedder: 'test', dimensions: 2 })
      await tx.embeddings.put(idOf(1), { embedder, vectors })
    })
    const { seq, active } = await store.feed.head()
    expect((await seen(store)).count).toBe(3)
    await store.transaction((tx) => tx.erase({ decisions: [{ id: idOf(1), revision: 1 }] }))
    for (const one of shared ? [store, await again()] : [store]) {
      expect(await seen(one)).toEqual(without)
      expect(await one.feed.since(seq, active!.number, 9)).toEqual([
        { seq: (await one.feed.head()).seq, id: idOf(1), fields: null, terms: '', vectors: null },
      ])
      expect((await one.edges.of([idOf(1)], { direction: 'incoming', limit: 9 })).length).toBe(1)
    }
    expect(await store.scrub()).toEqual([])
  })

  onEmpty('erasing what is not there, or was changed, is refused', async (store) => {
    await createAll(store, [recordOf(1)])
    await refusedIn(store, 'not_found', (tx) => tx.erase({ decisions: [{ id: idOf(2), revision: null }] }))
    await refusedIn(store, 'conflict', (tx) => tx.erase({ decisions: [{ id: idOf(1), revision: 2 }] }))
    await store.transaction((tx) => tx.erase({ decisions: [{ id: idOf(1), revision: null }] }))
    for (const revision of [1, null])
      await refusedIn(store, 'not_found', (tx) => tx.erase({ decisions: [{ id: idOf(1), revision }] }))
    await refusedIn(store, 'not_found', (tx) => tx.decisions.put(recordOf(1), 1))
  })

  onEmpty('an erasure is undone with its transaction', async (store) => {
    await createAll(store, [recordOf(1)])
    const before = await seen(store)
    const failing = store.transaction(async (tx) => {
      await tx.erase({ decisions: [{ id: idOf(1), revision: 1 }] })
      throw new Error('no')
    })
    expect(await failing.catch((error: Error) => error.message)).toBe('no')
    expect(await seen(store)).toEqual(before)
    await store.transaction((tx) => tx.decisions.put(recordOf(1, { category: 'other' }), 1))
  })

  onEmpty('a redacted line keeps its place and everything but its detail', async (store) => {
    await store.transaction(async (tx) => {
      for (const text of ['one', 'two\0"', 'three']) await tx.append({ audit: [line({ text })] })
    })
    const before = await store.audit.list({ limit: 9 })
    const [third, second, first] = before
    const detail = { redacted_by: 'R', kept: 1 }
    await store.transaction((tx) =>
      tx.erase({ audit: { lines: [second!, first!].map(({ seq }) => ({ seq, detail })), redacted_by: 'R' } }),
    )
    const [said, ...after] = await store.audit.list({ limit: 9 })
    expect(after).toEqual([third!, { ...second!, detail }, { ...first!, detail }])
    expect(said!.method).toBe('audit.redaction')
    expect(said!.detail).toEqual({ redacted_by: 'R', lines: [second!.seq, first!.seq] })
    // Retention never removes the entry that records a redaction.
    await store.transaction((tx) => tx.erase({ expired: { before_ms: 4e12, keep: [], limit: 9 } }))
    expect((await store.audit.list({ limit: 9 })).map(({ method }) => method).sort()).toEqual([
      'audit.redaction',
      'audit.retention',
    ])
  })

  onEmpty('a redaction that does not name its source is refused', async (store) => {
    await store.transaction((tx) => tx.append({ audit: [line({ text: 'one' })] }))
    const { seq } = (await store.audit.list({ limit: 1 }))[0]!
    const redact = (detail: Record<string, unknown>, line = seq, times = 1) =>
      store.transaction((tx) =>
        tx.erase({ audit: { lines: Array(times).fill({ seq: line, detail }), redacted_by: 'R' } }),
      )
    await refused(redact({}), 'invalid')
    await refused(redact({ redacted_by: 'other' }), 'invalid')
    await refused(redact({ redacted_by: 'R' }, seq, mostRedacted + 1), 'invalid')
    await refused(redact({ redacted_by: 'R' }, seq + 100), 'not_found')
    expect((await store.audit.list({ limit: 9 })).map(({ detail }) => detail)).toEqual([{ text: 'one' }])
  })
}
