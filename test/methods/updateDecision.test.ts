/** cstp.updateDecision: what it may change, what it keeps, and that no update is lost, on every store. */

import { describe, expect, test } from 'bun:test'
import { readDecision } from '../../sdk/storage/decisions.ts'
import { forEachBackend } from '../support/program.ts'
import { recordOf } from '../support/record.ts'

forEachBackend((open) => {
  test('an update of what somebody else has updated since it was read is refused, and nothing is lost', async () => {
    const { call, refused, record } = await open()
    const id = await record()
    const update = (context: string, revision_count?: number) => ({
      id,
      updates: { context },
      ...(revision_count !== undefined && { revision_count }),
    })
    await call('updateDecision', update('first', 0))
    expect(await refused('updateDecision', update('second', 0))).toMatchObject({
      error: 'invalid_params',
      data: { issues: [{ path: 'revision_count', received: '0', expected: expect.stringMatching(/^1:/) }] },
    })
    expect(await call('getDecision', { id })).toMatchObject({ context: 'first', revision_count: 1 })
    // A review is no update: it changes nothing that is edited.
    await call('reviewDecision', { decision_id: id, outcome: 'success' })
    await call('updateDecision', update('second', 1))
    await call('updateDecision', update('third'))
    expect(await call('getDecision', { id })).toMatchObject({ context: 'third', revision_count: 3 })
    const both = await Promise.allSettled(['a', 'b'].map((context) => call('updateDecision', update(context, 3))))
    expect(both.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
    expect(await call('getDecision', { id })).toMatchObject({ revision_count: 4 })
  })

  test('a name that a rule counts by is not dropped while it counts; a curator may', async () => {
    const { call, clock, refused, record, rules } = await open()
    const counts = (field: string, value: string) =>
      `{ type: temporal, field: ${field}, value: ${value}, window_hours: 2, max_occurrences: 1 }`
    const conditions = `[{ type: compound, operator: or, conditions: [${counts('tag', 'deploy')}, ${counts('feature', 'billing')}] }]`
    await rules(`- { id: rate, action: warn, message: Slowly, conditions: ${conditions} }`)
    const named = { tags: ['Deploy', 'other'], project: { name: 'acme/app', feature: 'billing' } }
    const [id, other] = [await record(named), await record(named)]
    const drops = [{ tags: ['other'] }, { project: { feature: null } }]
    for (const updates of drops)
      expect(await refused('updateDecision', { id, updates })).toMatchObject({
        error: 'forbidden',
        message: expect.stringMatching(/^the rule rate counts decisions with the (tag "deploy"|feature "billing"), so/),
      })
    await call('updateDecision', { id, updates: { tags: ['deploy'] } })
    await call('updateDecision', { id: other, updates: { tags: [] } }, 'curator')
    clock.now += 2 * 3_600_000
    for (const updates of drops) await call('updateDecision', { id, updates })
  })

  test('after a review by others the recorder rewrites no text, so that a failure is still found; a curator may', async () => {
    const { call, refused, record } = await open()
    const id = await record({ decision: 'Shard the ledger by tenant' })
    const texts = [
      { decision: 'Buy flowers' },
      { context: 'none' },
      { tags: [] },
      { pattern: 'x' },
      { reasons: [] },
      { bridge: { structure: 'a', function: 'b' } },
    ]
    await call('reviewDecision', { id, outcome: 'failure' })
    await call('updateDecision', { id, updates: { context: 'A tenant outgrew its shard' } })
    await call('reviewDecision', { id, outcome: 'failure' }, 'bob')
    for (const updates of texts)
      expect(await refused('updateDecision', { id, updates })).toMatchObject({
        error: 'forbidden',
        data: { scope: 'curate' },
        message: expect.stringContaining(`${Object.keys(updates)[0]}: others reviewed this decision`),
      })
    await call('updateDecision', { id, updates: { confidence: 0.1, project: { feature: 'billing' } } })
    const { decisions } = await call('queryDecisions', { query: 'Shard the ledger by tenant' })
    expect(decisions[0]).toMatchObject({ id, outcome: 'failure' })
    await call('updateDecision', { id, updates: { tags: ['ledger'] } }, 'curator')
  })

  test('an update of a text that has no vectors yet starts the first generation', async () => {
    const { call, store } = await open()
    const found = recordOf()
    await store.transaction((tx) => tx.decisions.put(found, 0))
    const updates = { decision: 'Use Postgres' }
    expect(await call('updateDecision', { id: found.id, updates })).toMatchObject({ indexed: true })
    const { decisions } = await call('queryDecisions', { query: 'Use Postgres' })
    expect(decisions.map(({ id }) => id)).toEqual([found.id])
  })

  describe('the project', () => {
    const merged = (pr: number) => ({
      source: 'github',
      events: [{ event_type: 'pr_merged', ts: '2026-07-02T12:00:00Z', payload: { repo: 'acme/app', pr_number: pr } }],
    })

    test('takes the pull request later, and keeps the rest; it is found by it', async () => {
      const { call, record } = await open()
      const project = { name: 'acme/app', feature: 'login', files: ['a.ts'] }
      const id = await record({ project })
      expect(await call('updateDecision', { id, updates: { project: { pr: 700 } } })).toMatchObject({
        applied: ['project'],
      })
      const { project: kept, revisions } = await call('getDecision', { id, revisions: true })
      expect(kept).toEqual({ ...project, pr: 700 })
      expect(revisions![0]!.old_values).toEqual({ project: { ...project, pr: null } })
      expect((await call('listDecisions', { pr: 700 })).decisions.map((one) => one.id)).toEqual([id])
      // A decision without a project gets one.
      const other = await record()
      await call('updateDecision', { id: other, updates: { project: { name: 'acme/web', pr: 3 } } })
      expect((await call('getDecision', { id: other })).project).toMatchObject({ name: 'acme/web', pr: 3 })
    })

    test('is named once, and before the merge; curators may correct it', async () => {
      const { call, refused, record } = await open()
      const id = await record({ project: { name: 'acme/app', pr: 7 } })
      for (const project of [{ pr: 8 }, { name: 'acme/web' }]) {
        const error = await refused('updateDecision', { id, updates: { project } })
        expect([error.code, error.data]).toEqual([-32001, { scope: 'curate' }])
        expect((await call('updateDecision', { id, updates: { project } }, 'curator')).applied).toEqual(['project'])
        await call('updateDecision', { id, updates: { project: { name: 'acme/app', pr: 7 } } }, 'curator')
      }
      // What is said again, and the feature, may be said at any time.
      await call('updateDecision', { id, updates: { project: { pr: 7, feature: 'login' } } })
      await call('ingestEvidence', merged(9), 'root')
      for (const given of [{ project: { name: 'acme/app' } }, { project: { pr: 9 } }]) {
        const late = await record(given)
        const updates = { project: { name: 'acme/app', pr: 9 } }
        expect((await refused('updateDecision', { id: late, updates })).data).toEqual({ scope: 'evidence' })
        expect((await call('getDecision', { id: late })).project).toMatchObject(given.project)
      }
    })
  })

  test('one wrong field refuses the right ones beside it', async () => {
    const { call, refused, record } = await open()
    const id = await record()
    await refused('updateDecision', { id, updates: { tags: ['a'], stakes: 'low' } })
    expect((await call('getDecision', { id })).tags).toEqual([])
  })

  describe('the bridge', () => {
    const bridge = { structure: 's', function: 'f', tolerance: [], enforcement: [], prevention: [] }
    test('by rule is renewed with the text, and the decision is found by its new meaning', async () => {
      const { call, record } = await open()
      const id = await record({ decision: 'Paint the bicycle shed green' })
      await record({ decision: 'Something else entirely' })
      await call('updateDecision', { id, updates: { decision: 'Encrypt backups to survive theft' } })
      const found = await call('getDecision', { id })
      expect(found).toMatchObject({
        bridge_method: 'rule',
        bridge: { structure: found.decision, function: 'to survive theft' },
      })
      const near = await call('queryDecisions', { query: 'encrypt the backups to survive theft', limit: 1 })
      expect(near.decisions[0]).toMatchObject({ id })
      expect(near.decisions[0]!.distance).toBeLessThan(0.5)
      const words = await call('queryDecisions', { query: 'bicycle', retrieval_mode: 'keyword' })
      expect(words.decisions).toEqual([])
    })

    test('that is given stays when the text changes', async () => {
      const { call, record } = await open()
      const id = await record({ bridge })
      await call('updateDecision', { id, updates: { decision: 'Other', context: 'to be different' } })
      expect(await call('getDecision', { id })).toMatchObject({ title: 'Other', bridge, bridge_method: 'given' })
    })
  })

  test('is for the agent that recorded it, curators and administrators', async () => {
    const { call, refused, record } = await open()
    const id = await record()
    const before = await call('getDecision', { id })
    expect(await refused('updateDecision', { id, updates: { decision: 'Mine now' } }, 'bob')).toMatchObject({
      error: 'forbidden',
      code: -32001,
    })
    expect(await call('getDecision', { id })).toEqual(before)
    for (const as of ['curator', 'root'] as const)
      expect((await call('updateDecision', { id, updates: { tags: [as] } }, as)).applied).toEqual(['tags'])
  })

  test('120 growing updates: earlier values are apart from the record, so that lists neither grow nor slow down', async () => {
    const { call, record, store } = await open()
    const id = await record()
    const context = (at: number) =>
      String(at)
        .padStart(1_000 * (at + 1), '.')
        .slice(0, 100_000)
    for (let at = 0; at < 120; at++) await call('updateDecision', { id, updates: { context: context(at) } })
    const { decisions } = await call('listDecisions')
    expect(decisions[0]).toMatchObject({ id, revision_count: 120, context: context(119) })
    expect(JSON.stringify(decisions).length).toBeLessThan(115_000)
    expect((await store.decisions.get([id]))[0]!.json.length).toBeLessThan(115_000)
    expect(decisions[0]).not.toHaveProperty('revisions')
    expect(await call('getDecision', { id })).not.toHaveProperty('revisions')
    const { revisions = [] } = await call('getDecision', { id, revisions: true })
    expect(revisions.map(({ old_values }) => old_values?.context)).toEqual([
      // An answer has at most 8 MiB of them.
      ...Array(revisions.filter(({ old_values }) => old_values === null).length).fill(undefined),
      null,
      ...Array.from({ length: 119 }, (_, at) => context(at)),
    ])
  })

  test('the newest 200 updates are kept in full, older ones as digests', async () => {
    const { call, record } = await open()
    const id = await record()
    for (let at = 0; at < 203; at++) await call('updateDecision', { id, updates: { confidence: at / 1_000 } })
    const { revisions = [], revision_count } = await call('getDecision', { id, revisions: true })
    expect([revisions.length, revision_count]).toEqual([203, 203])
    expect(revisions.filter(({ old_values }) => old_values === null)).toEqual(revisions.slice(0, 3))
    expect(revisions[0]).toMatchObject({ fields: ['confidence'], digest: expect.stringMatching(/^[0-9a-f]{64}$/) })
    expect(revisions[3]!.old_values).toEqual({ confidence: 0.002 })
  })

  test('a decision of more than 256 KiB is refused, when it is recorded and when it grows', async () => {
    const { call, record, refused } = await open()
    const reasons = Array.from({ length: 30 }, () => ({ type: 'analysis', text: 'x'.repeat(9_000) }))
    const large = { decision: 'Use SQLite', confidence: 0.8, category: 'architecture', reasons }
    const id = await record()
    for (const [method, given] of [
      ['recordDecision', large],
      ['updateDecision', { id, updates: { reasons } }],
    ] as const) {
      const error = await refused(method, given)
      expect([error.error, error.message]).toEqual([
        'invalid_params',
        expect.stringContaining('at most 262144 bytes (256 KiB)'),
      ])
    }
    expect(await call('getDecision', { id, revisions: true })).toMatchObject({ reasons: [], revisions: [] })
  })

  test('twenty at once on two servers lose nothing', async () => {
    const one = await open()
    const two = await one.second()
    const id = await one.record({ confidence: 0 })
    const values = Array.from({ length: 20 }, (_, index) => (index + 1) / 100)
    await Promise.all(
      values.map((confidence, index) =>
        (index % 2 ? one : two).call('updateDecision', { id, updates: { confidence, decision: `Text ${index}` } }),
      ),
    )
    const { revisions = [], confidence } = await two.call('getDecision', { id, revisions: true })
    expect(revisions).toHaveLength(20)
    const seen = [...revisions.slice(1).map(({ old_values }) => old_values!.confidence), confidence]
    expect(seen.map(Number).sort((a, b) => a - b)).toEqual(values)
  })

  test('another one that comes while vectors are made is not overwritten, and the vectors are those of the final text', async () => {
    const { call, record, services, store } = await open()
    const id = await record()
    const { embedder } = services
    const { embed } = embedder
    embedder.embed = async (...given) => {
      embedder.embed = embed
      await call('updateDecision', { id, updates: { pattern: 'Boring technology first', tags: ['a'] } })
      return embed(...given)
    }
    expect(await call('updateDecision', { id, updates: { decision: 'Paint the shed' } })).toMatchObject({
      indexed: false,
    })
    expect(await call('getDecision', { id })).toMatchObject({
      decision: 'Paint the shed',
      pattern: 'Boring technology first',
      tags: ['a'],
      bridge: { structure: 'Paint the shed', function: 'Boring technology first' },
    })
    expect((await readDecision(store.decisions, id))?.indexed).toBe(false)
    expect(await services.outbox.drain()).toBe(1)
    for (const [bridge_side, query] of [
      ['structure', 'Paint the shed'],
      ['function', 'Boring technology first'],
    ])
      expect((await call('queryDecisions', { query, bridge_side })).decisions).toMatchObject([{ id, distance: 0 }])
  })

  test('while the embedder is unavailable the words are found at once, the meaning later, the old one never', async () => {
    const { call, record, embedder, services } = await open()
    const id = await record({ decision: 'Paint the shed' })
    embedder.health = 'away'
    expect(await call('updateDecision', { id, updates: { decision: 'Encrypt backups' } })).toMatchObject({
      indexed: false,
    })
    const words = await call('queryDecisions', { query: 'encrypt', retrieval_mode: 'keyword' })
    expect(words.decisions.map((hit) => hit.id)).toEqual([id])
    embedder.health = 'up'
    expect((await call('queryDecisions', { query: 'paint the shed' })).decisions).toEqual([])
    expect(await services.outbox.drain()).toBe(1)
    expect((await call('queryDecisions', { query: 'encrypt backups' })).decisions[0]!.distance).toBeLessThan(0.01)
  })

  test('of what is not embedded needs no embedder', async () => {
    const { call, record, embedder } = await open()
    const id = await record()
    embedder.health = 'away'
    expect(await call('updateDecision', { id, updates: { confidence: 0.5, tags: ['a'] } })).toMatchObject({
      indexed: true,
    })
  })
})
