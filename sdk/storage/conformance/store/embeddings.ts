/** Store suite: generations of vectors, the feed of changes, and edges. */

import type { Link } from '../../../schema/decision.ts'
import { readDecision } from '../../decisions.ts'
import { edgeOrder, edgesOf } from '../../edges.ts'
import { compareText, filterFields } from '../../fields.ts'
import { countDecisions } from '../../groups.ts'
import type { Store } from '../../store.ts'
import type { VectorSet } from '../../vectors.ts'
import { random } from '../search/corpus.ts'
import type { Kit } from './kit.ts'
import { activate, analyseSimply, begin, createAll, idOf, numbered, recordOf } from './records.ts'

/** Vectors in which sides of equal text share an array, in each possible combination. */
function vectorsOf(number: number, dimensions = 3): VectorSet {
  const made = (shift: number) =>
    Float32Array.from({ length: dimensions }, (_, at) => Math.fround(Math.sin(number + shift + at)))
  const structure = made(0)
  const own = number % 2 === 0 ? structure : made(10)
  return { structure, function: own, both: number % 3 === 0 ? structure : number % 3 === 1 ? own : made(20) }
}

const put = (store: Store, number: number, embedder = 'test:1', dimensions = 3) =>
  store.transaction((tx) => tx.embeddings.put(idOf(number), { embedder, vectors: vectorsOf(number, dimensions) }))

export function testEmbeddings({ onEmpty, expect, refused, refusedIn }: Kit): void {
  onEmpty('the first generation is active at once, later ones are built beside it', async (store) => {
    expect(await store.feed.head()).toEqual({ seq: 0, active: null, building: null })
    const first = await begin(store)
    expect([first.embedder, first.dimensions, first.state]).toEqual(['test:1', 3, 'active'])
    const second = await begin(store, 'test:2', 4)
    const third = await begin(store, 'test:3', 5)
    expect([second.state, third.state, third.number > second.number]).toEqual(['building', 'building', true])
    expect(await store.feed.head()).toEqual({ seq: 0, active: first, building: third })
    await refusedIn(store, 'not_found', (tx) => tx.embeddings.putGeneration({ state: 'active', number: second.number }))
    const active = await activate(store, third.number)
    expect(active).toEqual({ ...third, state: 'active' })
    expect(await store.feed.head()).toEqual({ seq: 0, active, building: null })
  })

  onEmpty('vectors make a decision indexed, and come back as they were', async (store) => {
    await createAll(store, numbered(6))
    const { number: generation } = await begin(store)
    for (let number = 0; number < 6; number++) await put(store, number)
    const entries = await store.feed.since(0, generation, 9)
    expect(entries.map(({ id }) => id)).toEqual([0, 1, 2, 3, 4, 5].map(idOf))
    for (const [number, { vectors, fields }] of entries.entries()) {
      const { structure, function: own, both } = vectors!
      const expected = vectorsOf(number)
      expect([[...structure], [...own], [...both]]).toEqual([
        [...expected.structure],
        [...expected.function],
        [...expected.both],
      ])
      expect(fields).toEqual(filterFields(recordOf(number), true))
    }
    expect((await readDecision(store.decisions, idOf(1)))?.indexed).toBe(true)
    expect(await countDecisions(store.decisions, { indexed: true })).toBe(6)
    await store.transaction((tx) => tx.embeddings.put(idOf(1), null))
    expect((await readDecision(store.decisions, idOf(1)))?.indexed).toBe(false)
    expect(await countDecisions(store.decisions, { indexed: false })).toBe(1)
    expect((await store.feed.since(0, generation, 9)).at(-1)?.vectors).toBe(null)
    await store.transaction((tx) => tx.decisions.put(recordOf(2, { tags: ['x'] }), 1))
    expect((await readDecision(store.decisions, idOf(2)))?.indexed).toBe(true)
  })

  onEmpty('the very first vectors start a generation, and later ones say whether it is theirs', async (store) => {
    await createAll(store, numbered([1, 2]))
    expect(await put(store, 1, 'test:1', 4)).toBe(true)
    const { active } = await store.feed.head()
    expect([active?.embedder, active?.dimensions, active?.state]).toEqual(['test:1', 4, 'active'])
    expect(await put(store, 2, 'test:1', 4)).toBe(true)
    expect(await put(store, 2, 'test:2', 3)).toBe(false)
    expect(await store.transaction((tx) => tx.embeddings.put(idOf(1), null))).toBe(false)
    expect(await countDecisions(store.decisions, { indexed: true })).toBe(1)
  })

  onEmpty('vectors of another length or decision are refused, of another embedder ignored', async (store) => {
    await createAll(store, [recordOf(1)])
    await begin(store)
    await refused(put(store, 1, 'test:1', 2), 'invalid')
    const { structure } = vectorsOf(1)
    const uneven = { structure, function: structure, both: Float32Array.of(1) }
    await refusedIn(store, 'invalid', (tx) => tx.embeddings.put(idOf(1), { embedder: 'test:1', vectors: uneven }))
    await refused(put(store, 2), 'not_found')
    await put(store, 1, 'test:9', 7)
    expect((await readDecision(store.decisions, idOf(1)))?.indexed).toBe(false)
  })

  onEmpty('what is put while a generation is built goes into all of that embedder', async (store) => {
    await createAll(store, numbered([1, 2, 3]))
    const first = await begin(store)
    await put(store, 1)
    await put(store, 2)
    const second = await begin(store)
    await put(store, 2)
    await put(store, 3)
    const held = async (generation: number) =>
      (await store.feed.since(0, generation, 9)).filter(({ vectors }) => vectors !== null).map(({ id }) => id)
    expect(await held(first.number)).toEqual([1, 2, 3].map(idOf))
    expect(await held(second.number)).toEqual([2, 3].map(idOf))
    expect(await countDecisions(store.decisions, { indexed: true })).toBe(3)
    await store.transaction((tx) => tx.embeddings.put(idOf(3), null))
    await activate(store, second.number)
    expect(await countDecisions(store.decisions, { indexed: true })).toBe(1)
    expect([
      (await readDecision(store.decisions, idOf(1)))?.indexed,
      (await readDecision(store.decisions, idOf(2)))?.indexed,
    ]).toEqual([false, true])
    expect(await held(first.number)).toEqual([])
  })

  onEmpty('the feed holds each decision once, at its latest change, in the order of commits', async (store) => {
    await createAll(store, numbered([1, 2, 3]))
    const { seq: start } = await store.feed.head()
    expect((await store.feed.since(0, 0, 99)).map(({ id }) => id)).toEqual([1, 2, 3].map(idOf))
    await store.transaction((tx) => tx.decisions.put(recordOf(1, { preserve: true }), 1))
    await begin(store)
    await put(store, 2)
    const changes = await store.feed.since(start, 1, 99)
    expect(changes.map(({ id }) => id)).toEqual([idOf(1), idOf(2)])
    expect(changes[0]?.fields).toEqual(filterFields(recordOf(1, { preserve: true }), false))
    expect(changes[0]?.terms).toBe(analyseSimply(recordOf(1)))
    const { seq } = await store.feed.head()
    expect(seq).toBe(changes[1]!.seq)
    expect(await store.feed.since(seq, 1, 99)).toEqual([])
    const all = await store.feed.since(0, 1, 99)
    expect(all.map(({ id }) => id)).toEqual([3, 1, 2].map(idOf))
    expect(await store.feed.since(0, 1, 2)).toEqual(all.slice(0, 2))
    expect(all.every(({ seq: one }, at) => at === 0 || one > all[at - 1]!.seq)).toBe(true)
    await store.transaction((tx) => tx.decisions.put(recordOf(3, { decision: 'other words other' }), 1))
    expect((await store.feed.since(0, 1, 99)).at(-1)?.terms.startsWith('other other words')).toBe(true)
  })

  onEmpty('edges follow the links of the records', async (store) => {
    const link = (target: number, edge_type: Link['edge_type'], weight = 1): Link => ({
      target_id: idOf(target),
      edge_type,
      weight,
      context: weight === 1 ? null : 'why',
      created_at: '2026-01-01T00:00:00Z',
      created_by: 'ada',
      effective: true,
    })
    const edge = (source: number, one: Link) => ({ source_id: idOf(source), ...one })
    const links = [link(3, 'supersedes'), link(2, 'refines', 0.5), link(2, 'blocks')]
    await createAll(store, [recordOf(1, { links }), recordOf(2, { links: [link(1, 'refines')] }), recordOf(3)])
    const of = (numbers: number[], query: Parameters<Store['edges']['of']>[1]) =>
      store.edges.of(numbers.map(idOf), query)
    const outgoing = [edge(1, link(2, 'blocks')), edge(1, link(2, 'refines', 0.5)), edge(1, link(3, 'supersedes'))]
    const incoming = [edge(2, link(1, 'refines'))]
    expect(await of([1], { direction: 'outgoing', limit: 9 })).toEqual(outgoing)
    expect(await of([1], { direction: 'incoming', limit: 9 })).toEqual(incoming)
    expect(await of([1, 2], { direction: 'both', limit: 9 })).toEqual([...outgoing, ...incoming])
    expect(await of([1], { direction: 'both', limit: 2 })).toEqual(outgoing.slice(0, 2))
    expect(await of([1, 2], { direction: 'both', types: ['refines'], limit: 9 })).toEqual([outgoing[1]!, incoming[0]!])
    expect(await of([1], { direction: 'both', types: [], limit: 9 })).toEqual([])
    expect(await of([], { direction: 'both', limit: 9 })).toEqual([])
    await store.transaction((tx) => tx.decisions.put(recordOf(1, { links: [link(2, 'refines', 0.25)] }), 1))
    expect(await of([1], { direction: 'outgoing', limit: 9 })).toEqual([edge(1, link(2, 'refines', 0.25))])
  })

  onEmpty('edges of all decisions are listed newest first, through updates too', async (store) => {
    const next = random(1)
    const one = <T>(values: readonly T[]): T => values[Math.floor(next() * values.length)]!
    const kinds = ['relates_to', 'contradicts', 'supersedes'] as const
    const linked = (number: number) =>
      recordOf(number, {
        links: kinds
          .filter(() => next() < 0.3)
          .map((edge_type) => ({
            target_id: idOf(Math.floor(next() * 40)),
            ...{ edge_type, weight: 0.5, context: null },
            created_at: `2026-0${1 + Math.floor(next() * 3)}-01T00:00:00.000Z`,
            created_by: one(['ada', 'bob']),
            effective: next() < 0.5,
          })),
      })
    const records = Array.from({ length: 40 }, (_, number) => linked(number))
    const check = async () => {
      const all = records.flatMap(edgesOf)
      for (const types of [['contradicts'], ['relates_to', 'supersedes'], []] as const)
        for (const limit of [2, 100])
          expect(await store.edges.of(null, { direction: 'both', types, limit })).toEqual(
            all
              .filter(({ edge_type }) => types.some((type) => type === edge_type))
              .sort((a, b) => compareText(b.created_at, a.created_at) || edgeOrder(a, b))
              .slice(0, limit),
          )
    }
    await createAll(store, records)
    await check()
    for (let number = 0; number < 40; number += 3) {
      const changed = linked(number)
      records[number] = changed
      await store.transaction((tx) => tx.decisions.put(changed, 1))
    }
    await check()
  })
}
