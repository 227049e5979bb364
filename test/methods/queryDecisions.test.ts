/** cstp.queryDecisions: three modes, their scores, totals and pages, on every store. */

import { describe, expect, test } from 'bun:test'
import { queueVectors } from '../../src/domain/search/embeddings.ts'
import { queryTerms, termsOf } from '../../src/domain/search/terms.ts'
import { forEachBackend, type TestProgram } from '../support/program.ts'

const modes = ['semantic', 'keyword', 'hybrid'] as const

const texts = [
  'Cache query results in Redis to cut latency',
  'Store sessions in Postgres because they must survive a restart',
  'Use Redis streams for the event queue',
  'Encrypt backups at rest so that stolen disks are useless',
  'Drop the nightly batch job',
]

/** Records the texts a second apart; returns their ids. */
async function fill({ record, clock }: TestProgram): Promise<string[]> {
  const ids: string[] = []
  for (const decision of texts) {
    ids.push(await record({ decision }))
    clock.now += 1_000
  }
  return ids
}

/** The keyword scores of the texts (and their category), computed here from nothing but the formulas. */
function keywordScores(query: string): { best: number; of(text: string): number } {
  const documents = texts.map((text) => termsOf(`${text}\narchitecture`))
  const average = documents.reduce((sum, { length }) => sum + length, 0) / documents.length
  const idf = (term: string) => {
    const n = documents.filter(({ counts }) => counts.has(term)).length
    return Math.log(1 + (documents.length - n + 0.5) / (n + 0.5))
  }
  const terms = queryTerms(query)
  const ideal = terms.reduce((sum, term) => sum + idf(term) * 2.2, 0)
  const shares = documents.map(({ counts, length }) => {
    const part = (term: string) => {
      const f = counts.get(term) ?? 0
      return (idf(term) * f * 2.2) / (f + 1.2 * (0.25 + (0.75 * length) / average))
    }
    return terms.reduce((sum, term) => sum + part(term), 0) / ideal
  })
  const best = Math.max(...shares)
  return { best, of: (text) => shares[texts.indexOf(text)]! ** 3 / (best ** 3 + 0.3 ** 3) }
}

forEachBackend((open) => {
  test('keyword: an identifier is found by its words, and by its name before its words', async () => {
    const program = await open()
    await fill(program)
    const named = await program.record({ decision: 'Move retryPolicy into src/httpClient.ts' })
    const spelt = await program.record({ decision: 'A retry policy for each client' })
    const ask = async (query: string) =>
      (await program.call('queryDecisions', { query, retrieval_mode: 'keyword' })).decisions.map(({ id }) => id)
    expect((await ask('http client')).toSorted()).toEqual([named, spelt].toSorted())
    expect((await ask('retry policy')).toSorted()).toEqual([named, spelt].toSorted())
    expect(await ask('retryPolicy')).toEqual([named, spelt])
  })

  test('hybrid: both parts, weighed, and each candidate scored exactly in both', async () => {
    const program = await open()
    const ids = await fill(program)
    const query = 'redis'
    const semantic = await program.call('queryDecisions', { query })
    const score = keywordScores(query)
    for (const hybrid_weight of [0, 0.3, 1]) {
      const [meaning, words] = [hybrid_weight * (1 - score.best ** 2) ** 4, 1 - hybrid_weight]
      const found = await program.call('queryDecisions', { query, retrieval_mode: 'hybrid', hybrid_weight })
      expect(found.total).toBe(5)
      const expected = ids.map((id, index) => {
        const { distance } = semantic.decisions.find((hit) => hit.id === id)!
        const parts = { semantic: Math.max(0, 1 - distance!), keyword: score.of(texts[index]!) }
        return {
          id,
          distance,
          ...parts,
          combined: (meaning * parts.semantic + words * parts.keyword) / (meaning + words),
        }
      })
      for (const { id, distance, ...parts } of expected) {
        expect(found.decisions.find((hit) => hit.id === id)!.distance).toBe(distance)
        for (const name of ['semantic', 'keyword', 'combined'] as const)
          expect(found.scores[id]![name]).toBeCloseTo(parts[name], 3)
      }
      const combined = found.decisions.map(({ id }) => found.scores[id]!.combined)
      expect(combined).toEqual([...combined].sort((a, b) => b - a))
    }
    const byDefault = await program.call('queryDecisions', { query, retrieval_mode: 'hybrid' })
    const weighed = await program.call('queryDecisions', { query, retrieval_mode: 'hybrid', hybrid_weight: 0.7 })
    expect(byDefault.scores).toEqual(weighed.scores)
  })

  test('the side of the bridge that is asked is the one that is compared', async () => {
    const { call, record } = await open()
    const decision = 'Paint the fence and the wood, to protect it'
    const bridge = (structure: string, purpose: string) => ({ decision, bridge: { structure, function: purpose } })
    const painted = await record(bridge('paint the fence', 'protect the wood'))
    const oiled = await record(bridge('protect the wood', 'paint the fence'))
    const first = async (bridge_side: string) => {
      const { decisions } = await call('queryDecisions', { query: 'paint the fence', bridge_side })
      return [decisions[0]!.id, decisions[0]!.distance]
    }
    expect(await first('structure')).toEqual([painted, 0])
    expect(await first('function')).toEqual([oiled, 0])
    const [, both] = await first('both')
    expect(both).toBeGreaterThan(0.05)
  })

  test('a bridge that is far from the text is searched beside it, and never above a decision that says so itself', async () => {
    const { call, record, services, store, clock } = await open()
    const query = 'roll back broken deployments'
    const honest = { structure: 'Paint the fence', function: 'protect the wood' }
    const given = { decision: 'Paint the fence to protect the wood', confidence: 0.8, category: 'architecture' }
    const far = []
    for (const bridge of [
      { ...honest, structure: query },
      { ...honest, function: query },
    ]) {
      const result = await call('recordDecision', { ...given, bridge })
      expect([result.bridge_too_far, result.message]).toEqual([true, expect.stringContaining('less weight')])
      expect((await call('getDecision', { id: result.decision_id })).bridge).toMatchObject(bridge)
      far.push(result.decision_id)
    }
    const fine = await call('recordDecision', { ...given, bridge: honest })
    expect(fine).not.toHaveProperty('bridge_too_far')
    await record({ decision: 'Use SQLite for the catalogue' })
    const ask = async (bridge_side: 'structure' | 'function' | 'both', asked = query) =>
      (await call('queryDecisions', { query: asked, bridge_side })).decisions
    expect((await ask('structure'))[0]).toMatchObject({ id: far[0] })
    expect((await ask('function'))[0]).toMatchObject({ id: far[1] })
    for (const { id } of (await ask('both', given.decision)).slice(0, 3))
      expect([...far, fine.decision_id]).toContain(id)
    const genuine = await record({ decision: 'Roll back broken deployments' })
    for (const side of ['structure', 'function', 'both'] as const) {
      const [best, next] = await ask(side)
      expect(best).toMatchObject({ id: genuine, distance: 0 })
      expect(next!.distance).toBeGreaterThan(side === 'both' ? 0.5 : 0.2)
    }
    const updates = { bridge: { ...honest, function: query } }
    expect(await call('updateDecision', { id: fine.decision_id, updates })).toMatchObject({ bridge_too_far: true })
    const distances = async () => (await ask('function')).map(({ distance }) => distance)
    const before = await distances()
    // Vectors that are made later are the same.
    await store.transaction(async (tx) => {
      await tx.embeddings.put(fine.decision_id, null)
      await queueVectors(tx, fine.decision_id, clock.now)
    })
    expect(await services.outbox.drain()).toBe(1)
    expect(await distances()).toEqual(before)
  })

  test.each(['actual_result', 'lessons'] as const)('%s of a review is found by meaning and by words', async (field) => {
    const { call, record, services } = await open()
    await record({ decision: 'Use SQLite for the catalogue' })
    const id = await record({ decision: 'Paint the fence' })
    await call('reviewDecision', { id, outcome: 'failure', [field]: 'Rain washed the colour off' })
    expect(await services.outbox.drain()).toBe(1)
    for (const retrieval_mode of modes) {
      const query = 'rain washed the colour off'
      const { decisions } = await call('queryDecisions', { query, retrieval_mode })
      expect(decisions[0]!.id).toBe(id)
    }
    expect(await call('listDecisions', { search: 'rain colour' })).toMatchObject({ total: 1, decisions: [{ id }] })
    // Another review with the same texts changes nothing that is searched.
    await call('reviewDecision', { id, outcome: 'failure', [field]: 'Rain washed the colour off' })
    expect(await services.outbox.drain()).toBe(0)
  })

  test('a rejected alternative is found by meaning and by words', async () => {
    const { call, record } = await open()
    await record({ decision: 'Use SQLite for the catalogue' })
    const id = await record({
      decision: 'Paint the fence',
      alternatives_considered: ['Bricks', { option: 'Wallpaper', reason: 'comes off in rain' }],
    })
    for (const retrieval_mode of modes)
      for (const query of ['why no bricks', 'wallpaper comes off in rain'])
        expect((await call('queryDecisions', { query, retrieval_mode })).decisions[0]!.id).toBe(id)
    expect(await call('listDecisions', { search: 'wallpaper' })).toMatchObject({ total: 1 })
  })

  test('a context that quotes another decision does not make a bridge look like that one', async () => {
    const { call, record } = await open()
    const original = await record({ decision: 'Roll back broken deployments' })
    const quoted = 'Roll back broken deployments'
    const given = { decision: 'Paint the fence', context: quoted, confidence: 0.8, category: 'architecture' }
    const bridge = { structure: quoted, function: quoted }
    expect(await call('recordDecision', { ...given, bridge })).toMatchObject({ bridge_too_far: true })
    for (const bridge_side of ['structure', 'both'] as const) {
      const [best, next] = (await call('queryDecisions', { query: quoted, bridge_side })).decisions
      expect([best!.id, best!.distance]).toEqual([original, 0])
      expect(next!.distance).toBeGreaterThan(0.1)
    }
  })

  describe('no precedent', () => {
    test.each(modes)(
      '%s: a question that nothing resembles says so, and still returns what is nearest',
      async (retrieval_mode) => {
        const program = await open()
        await fill(program)
        const far = await program.call('queryDecisions', { query: 'zzz qqq xxx', retrieval_mode })
        expect(far).toMatchObject({ no_precedent: true, precedent: 'none', precedents: 0 })
        expect(far.decisions).toHaveLength(retrieval_mode === 'keyword' ? 0 : 5)
        const near = await program.call('queryDecisions', { query: 'nightly batch job', retrieval_mode })
        expect(near).toMatchObject({ no_precedent: false, precedent: 'found' })
      },
    )

    test('by keyword, one stray word of many is weak', async () => {
      const program = await open()
      await fill(program)
      const query = 'job interview questions about gardening tropical fruit on remote islands'
      const { decisions, precedent } = await program.call('queryDecisions', { query, retrieval_mode: 'keyword' })
      expect([decisions.length, precedent]).toEqual([1, 'weak'])
    })

    test('a rare word that only a long decision holds leads to a precedent', async () => {
      const program = await open()
      await fill(program)
      const filler = Array.from({ length: 60 }, (_, index) => `matter${index}`).join(' ')
      const id = await program.record({ decision: `Raise the quorum of the registry. ${filler}` })
      const ask = async (names: object) => {
        const { decisions, no_precedent } = await program.call('queryDecisions', { query: 'quorum registry', ...names })
        return [decisions[0]!.id, no_precedent]
      }
      expect(await ask({ retrieval_mode: 'keyword' })).toEqual([id, false])
      program.embedder.health = 'away'
      expect(await ask({ retrieval_mode: 'hybrid' })).toEqual([id, false])
    })

    test('hybrid says what meaning says at weight 1, what words say at weight 0, and without vectors too', async () => {
      const program = await open()
      await fill(program)
      const ask = async (query: string, retrieval_mode: 'semantic' | 'keyword' | 'hybrid', hybrid_weight = 0.7) =>
        (await program.call('queryDecisions', { query, retrieval_mode, hybrid_weight })).precedent
      const seen = new Set<string>()
      const queries = ['nightly batch job', 'zzz qqq xxx', 'night jobs in batches', 'nightly batchjob', 'use the']
      for (const query of queries) {
        const [meaning, words] = [await ask(query, 'semantic'), await ask(query, 'keyword')]
        expect([query, await ask(query, 'hybrid', 1)]).toEqual([query, meaning])
        expect([query, await ask(query, 'hybrid', 0)]).toEqual([query, words])
        program.embedder.health = 'away'
        expect([query, await ask(query, 'hybrid')]).toEqual([query, words])
        program.embedder.health = 'up'
        seen.add(`${meaning} ${words}`)
      }
      expect([...seen]).toContain('found found')
      expect([...seen]).toContain('none none')
      expect(seen.size).toBeGreaterThan(2)
    })
  })

  describe('while the embedder is unavailable', () => {
    test('decisions that are still to be indexed may be the precedent: the answer says so until they are', async () => {
      const program = await open()
      await fill(program)
      program.embedder.health = 'away'
      const { indexed } = await program.call('recordDecision', {
        decision: 'Prune the orchard',
        confidence: 0.6,
        category: 'garden',
      })
      expect(indexed).toBe(false)
      program.embedder.health = 'up'
      const ask = (retrieval_mode: 'semantic' | 'hybrid' | 'keyword') =>
        program.call('queryDecisions', { query: 'zzz qqq xxx', retrieval_mode })
      const partial = { complete: false, indexed: 5, total: 6 }
      expect(await ask('semantic')).toMatchObject({ index: partial, degraded: true, no_precedent: false })
      expect(await ask('hybrid')).toMatchObject({ index: partial, degraded: true, no_precedent: false })
      expect(await ask('keyword')).toMatchObject({ index: partial, degraded: true, no_precedent: false })
      const action = { description: 'zzz qqq xxx', category: 'garden', confidence: 0.9 }
      const said = { index: partial, degraded: true, no_precedent: false }
      expect(await program.call('preAction', { action, options: { auto_record: false } })).toMatchObject(said)
      for (const task_description of [action.description, undefined])
        for (const format of ['json', 'markdown'])
          expect(await program.call('getSessionContext', { task_description, format })).toMatchObject(said)
      program.clock.now += 3_600_000
      await program.services.outbox.drain()
      const complete = { complete: true, indexed: 6, total: 6 }
      expect(await ask('semantic')).toMatchObject({ index: complete, degraded: false, no_precedent: true })
    })

    test('or is another one than made the vectors, semantic fails until a reindex', async () => {
      const program = await open()
      await fill(program)
      program.embedder.id = 'other/1'
      expect(await program.refused('queryDecisions', { query: 'redis' })).toMatchObject({
        code: -32003,
        message: expect.stringContaining('Run cstp reindex'),
      })
      expect(await program.call('queryDecisions', { query: 'redis', retrieval_mode: 'hybrid' })).toMatchObject({
        degraded: true,
      })
      await program.call('reindex', {}, 'root')
      expect((await program.call('queryDecisions', { query: 'redis' })).decisions).toHaveLength(5)
    })
  })
})
