/** Store suite: writes are durable, and other instances on the same data see them. */

import { readDecision } from '../../decisions.ts'
import { countDecisions } from '../../groups.ts'
import type { Kit } from './kit.ts'
import { activate, begin, createAll, idOf, oddRecord, recordOf } from './records.ts'

const vector = Float32Array.of(0.6, 0.8)
const vectors = { structure: vector, function: vector, both: vector }

export function testShared({ onEmpty, expect }: Kit): void {
  onEmpty('everything is there after a restart', async (store, again) => {
    await store.transaction(async (tx) => {
      await tx.decisions.put(oddRecord(1), 0)
      await tx.decisions.put(recordOf(2, { source_key: 'two' }), 0)
      await tx.embeddings.putGeneration({ state: 'building', embedder: 'test:1', dimensions: 2 })
      await tx.embeddings.put(idOf(2), { embedder: 'test:1', vectors })
      await tx.keyed.put('s', 'ada', { data: null })
    })
    await store.transaction((tx) => tx.decisions.put(recordOf(2, { source_key: 'two', decision: 'rewritten' }), 1))
    const head = await store.feed.head()
    await store.close()
    const next = await again()
    expect(await next.feed.head()).toEqual(head)
    expect(await readDecision(next.decisions, idOf(1))).toEqual({ record: oddRecord(1), revision: 1, indexed: false })
    expect((await readDecision(next.decisions, idOf(2)))?.revision).toBe(2)
    expect(await next.decisions.find({ source_key: 'two' })).toEqual([idOf(2)])
    const last = (await next.feed.since(0, head.active!.number, 9)).at(-1)!
    expect([last.terms.split(' ')[0], [...last.vectors!.both]]).toEqual(['rewritten', [...vector]])
    const kept = { key: 'ada', value: { data: null }, version: 1, expires_ms: null }
    expect(await next.keyed.get('s', ['ada'])).toEqual([kept])
    expect(await next.reconcile()).toEqual([])
  })

  onEmpty('a second store sees each write at its next read', async (store, again) => {
    const other = await again()
    for (let number = 0; number < 20; number++) {
      const [writer, reader] = number % 2 === 0 ? [store, other] : [other, store]
      await createAll(writer, [recordOf(number, { decision: `unheard${number} words` })])
      expect((await readDecision(reader.decisions, idOf(number)))?.revision).toBe(1)
      expect(await countDecisions(reader.decisions, {})).toBe(number + 1)
      expect(await reader.decisions.find({ prefix: idOf(number), limit: 2 })).toEqual([idOf(number)])
      const [newest] = (await reader.feed.since(0, 0, 99)).slice(-1)
      expect([newest?.id, newest?.terms.split(' ')[0]]).toEqual([idOf(number), `unheard${number}`])
      expect(await reader.feed.head()).toEqual(await writer.feed.head())
    }
    await store.transaction((tx) => tx.decisions.put(recordOf(3, { decision: 'unheard0 words' }), 1))
    expect((await other.feed.since(0, 0, 99)).at(-1)?.terms.split(' ')[0]).toBe('unheard0')
    const { number } = await begin(other, 'test:1', 2)
    await store.transaction((tx) => tx.embeddings.put(idOf(3), { embedder: 'test:1', vectors }))
    expect(await countDecisions(other.decisions, { indexed: true })).toBe(1)
    const next = await begin(store, 'test:2', 2)
    await activate(store, next.number)
    expect(await countDecisions(other.decisions, { indexed: true })).toBe(0)
    expect((await other.feed.head()).active!.number > number).toBe(true)
  })

  onEmpty('two stores that write at once lose nothing and share nothing', async (store, again) => {
    const other = await again()
    await createAll(store, [recordOf(0, { tags: [] })])
    await store.transaction(({ keyed }) => keyed.put('k', 'once', 1))
    let taken = 0
    await Promise.all(
      Array.from({ length: 60 }, (_, number) =>
        (number % 2 === 0 ? store : other)
          .transaction(async (tx) => {
            const { record, revision } = (await readDecision(tx.decisions, idOf(0)))!
            await tx.decisions.put({ ...record, tags: [...record.tags, `n${number}`] }, revision)
            await tx.decisions.put(recordOf(number + 1, { decision: `both${number} add${number} words` }), 0)
            const found = await tx.keyed.get('k', ['once', 'trips'])
            const trips = found.find(({ key }) => key === 'trips')
            await tx.keyed.delete('k', ['once'])
            await tx.keyed.put('k', 'trips', ((trips?.value as number) ?? 0) + 1, { version: trips?.version ?? 0 })
            await tx.keyed.put('log', `${number}`, number)
            return found.some(({ key }) => key === 'once')
          })
          .then((isTaken) => {
            if (isTaken) taken++
          }),
      ),
    )
    for (const one of [store, other]) {
      expect(new Set((await readDecision(one.decisions, idOf(0)))!.record.tags).size).toBe(60)
      expect(await countDecisions(one.decisions, {})).toBe(61)
      const texts = (await one.feed.since(0, 0, 99)).map(({ terms }) => terms.split(' '))
      for (const term of ['both7', 'add8', 'words'])
        expect(texts.filter((terms) => terms.includes(term)).length).toBe(term === 'words' ? 60 : 1)
      const trips = { key: 'trips', value: 60, version: 60, expires_ms: null }
      expect(await one.keyed.list('k', { limit: 9 })).toEqual([trips])
      expect((await one.keyed.list('log', { limit: 99 })).length).toBe(60)
    }
    expect(taken).toBe(1)
    expect(await store.feed.since(0, 0, 99)).toEqual(await other.feed.since(0, 0, 99))
  })
}
