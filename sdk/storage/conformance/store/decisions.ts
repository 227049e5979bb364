/** Store suite: decisions are stored unchanged, found by id, and listed in a total order. */

import type { DecisionRecord } from '../../../schema/decision.ts'
import { filterNames, sortNames } from '../../../schema/decision-fields.ts'
import { decisionPages, parseRecord, readDecision, readDecisions } from '../../decisions.ts'
import { fieldsOrder, filterFields } from '../../fields.ts'
import { compileFilter } from '../../filter.ts'
import { countDecisions } from '../../groups.ts'
import { skeleton } from '../../skeleton.ts'
import type { CountFilter, Store } from '../../store.ts'
import { filterOf, random } from '../search/corpus.ts'
import type { Kit } from './kit.ts'
import { countedOf, createAll, idOf, numbered, oddRecord, recordOf } from './records.ts'

export function testDecisions({ onEmpty, expect, expectGroups, refused, refusedIn }: Kit): void {
  onEmpty('an empty store answers', async (store) => {
    expect(await readDecision(store.decisions, idOf(1))).toBe(null)
    expect(await store.decisions.get([idOf(1)])).toEqual([])
    expect(await readDecisions(store.decisions, [idOf(1)])).toEqual([])
    expect(await store.decisions.find({ prefix: '2', limit: 5 })).toEqual([])
    expect(await store.decisions.walk({}, null, 5)).toEqual([])
    expect(await countDecisions(store.decisions, {})).toBe(0)
    expect(await store.decisions.groups({}, ['day'])).toEqual([])
    expect(await store.decisions.find({ source_key: 'x' })).toEqual([])
    const all = { filter: {}, sort: 'created_at', order: 'desc', offset: 0, limit: 10 } as const
    expect(await store.decisions.list(all)).toEqual({ texts: [], total: 0 })
    expect(await store.feed.head()).toEqual({ seq: 0, active: null, building: null })
  })

  onEmpty('a record comes back as it was written', async (store) => {
    const records = [oddRecord(1), recordOf(2), recordOf(3, { tags: [], context: '' })]
    await createAll(store, records)
    for (const record of records) {
      expect(await readDecision(store.decisions, record.id)).toEqual({ record, revision: 1, indexed: false })
      const [text] = await store.decisions.get([record.id])
      const { id, agent, created_ms } = text!
      expect(parseRecord(text!)).toEqual(record)
      expect({ id, agent, created_ms }).toEqual({
        id: record.id,
        agent: record.recorded_by,
        created_ms: Date.parse(record.created_at),
      })
    }
    records[1]!.tags.push('changed by the caller')
    expect((await readDecision(store.decisions, records[1]!.id))?.record.tags).not.toEqual(records[1]!.tags)
    const [first] = await readDecisions(store.decisions, [idOf(2)])
    first!.record.tags.push('changed by the reader')
    expect((await readDecision(store.decisions, idOf(2)))?.record).toEqual(recordOf(2))
  })

  onEmpty('many are read in the order asked for', async (store) => {
    await createAll(store, numbered([1, 2, 3]))
    const found = await readDecisions(store.decisions, [idOf(3), idOf(9), idOf(1), idOf(3)])
    expect(found.map(({ record }) => record.id)).toEqual([idOf(3), idOf(1), idOf(3)])
    const texts = await store.decisions.get([idOf(3), idOf(9), idOf(1), idOf(3)])
    expect(texts.map(({ id }) => id)).toEqual([idOf(3), idOf(1), idOf(3)])
  })

  onEmpty('a list can be kept to some decisions', async (store) => {
    await createAll(store, numbered([1, 2, 3, 4]))
    const kept = async (numbers: number[], filter = {}) => {
      const ids = numbers.map(idOf)
      const page = { filter, ids, sort: 'created_at', order: 'asc', offset: 0, limit: 9 } as const
      const { texts, total } = await store.decisions.list(page)
      expect(total).toBe(texts.length)
      return texts.map(({ id }) => id)
    }
    expect(await kept([3, 1, 9, 3])).toEqual([idOf(1), idOf(3)])
    expect(await kept([3, 1, 2], { agent: 'bob' })).toEqual([idOf(1)])
    expect(await kept([])).toEqual([])
  })

  onEmpty('an id is created once', async (store) => {
    await createAll(store, [recordOf(1)])
    await refused(createAll(store, [recordOf(1, { decision: 'another' })]), 'conflict')
    expect((await readDecision(store.decisions, idOf(1)))?.record).toEqual(recordOf(1))
  })

  onEmpty('an id that is not a valid file name is refused', async (store) => {
    for (const id of ['', '../x', '2026-01-01-', '2026-01-01-decision-A', 'x', '2026-01-01-a/b'])
      await refused(createAll(store, [recordOf(1, { id })]), 'invalid')
    expect(await countDecisions(store.decisions, {})).toBe(0)
  })

  onEmpty('a source key belongs to one decision', async (store) => {
    await createAll(store, [recordOf(1, { source_key: 'a:1' }), recordOf(2)])
    await refused(createAll(store, [recordOf(3, { source_key: 'a:1' })]), 'conflict')
    await refusedIn(store, 'conflict', (tx) => tx.decisions.put(recordOf(2, { source_key: 'a:1' }), 1))
    expect(await store.decisions.find({ source_key: 'a:1' })).toEqual([idOf(1)])
    expect(await store.decisions.find({ source_key: 'a:2' })).toEqual([])
    expect(await readDecision(store.decisions, idOf(3))).toBe(null)
    await store.transaction((tx) => tx.decisions.put(recordOf(1, { source_key: 'a:2' }), 1))
    expect(await store.decisions.find({ source_key: 'a:1' })).toEqual([])
    expect(await store.transaction((tx) => tx.decisions.find({ source_key: 'a:2' }))).toEqual([idOf(1)])
  })

  onEmpty('a decision of another store continues from its revision there', async (store) => {
    const revisionOf = async (number: number) => (await readDecision(store.decisions, idOf(number)))?.revision
    await createAll(store, [recordOf(2)])
    await store.transaction(async (tx) => {
      await tx.decisions.put(recordOf(1), 0, 7)
      await tx.decisions.put(recordOf(2), 1, 3)
    })
    expect([await revisionOf(1), await revisionOf(2)]).toEqual([7, 3])
    await refusedIn(store, 'conflict', (tx) => tx.decisions.put(recordOf(1), 1))
    await store.transaction((tx) => tx.decisions.put(recordOf(1), 7))
    expect((await readDecision(store.decisions, idOf(1)))?.revision).toBe(8)
  })

  onEmpty('an update needs the current revision', async (store) => {
    await createAll(store, [recordOf(1)])
    const next = recordOf(1, { category: 'security', tags: ['new'] })
    await refusedIn(store, 'conflict', (tx) => tx.decisions.put(next, 2))
    await refusedIn(store, 'not_found', (tx) => tx.decisions.put(recordOf(2), 1))
    await store.transaction((tx) => tx.decisions.put(next, 1))
    await refusedIn(store, 'conflict', (tx) => tx.decisions.put(recordOf(1), 1))
    expect(await readDecision(store.decisions, idOf(1))).toEqual({ record: next, revision: 2, indexed: false })
    expect(parseRecord((await store.decisions.get([idOf(1)]))[0]!)).toEqual(next)
    expect(await countDecisions(store.decisions, { category: 'security', tags: ['new'] })).toBe(1)
    expect(await countDecisions(store.decisions, { category: recordOf(1).category! })).toBe(0)
  })

  onEmpty('ids are found by how they or their random part begin', async (store) => {
    const ids = Array.from({ length: 60 }, (_, number) => idOf(number)).sort()
    await createAll(
      store,
      ids.map((_, number) => recordOf(number)),
    )
    const part = (id: string) => id.slice(id.indexOf('-decision-') + 10)
    for (const prefix of [
      '',
      '2',
      '2024-01-0',
      '2024-01-01-decision-',
      ids[7]!,
      part(ids[9]!).slice(0, 8),
      'a',
      'f',
      'zz',
    ]) {
      const expected = ids.filter((id) => id.startsWith(prefix) || part(id).startsWith(prefix))
      expect(await store.decisions.find({ prefix: prefix, limit: 100 })).toEqual(expected)
      expect(await store.decisions.find({ prefix: prefix, limit: 3 })).toEqual(expected.slice(0, 3))
    }
  })

  onEmpty('a walk passes every decision once, oldest first', async (store) => {
    const records = Array.from({ length: 25 }, (_, number) => recordOf(number))
    await createAll(store, records)
    const seen: string[] = []
    for await (const page of decisionPages(store.decisions, {}, 4)) seen.push(...page.map(({ id }) => id))
    const inOrder = records.map((record) => filterFields(record, false)).sort(fieldsOrder('created_at', 'asc'))
    expect(seen).toEqual(inOrder.map(({ id }) => id))
  })

  onEmpty('decisions of this suite differ in every field that a filter compares', async (store) => {
    const next = random(11)
    const records = Array.from({ length: 120 }, (_, number) => madeUp(number, next))
    await createAll(store, records)
    await embedSome(store, records)
    for (const name of filterNames) {
      const counts = await Promise.all(
        Array.from({ length: 40 }, () => countDecisions(store.decisions, filterOf([name], next))),
      )
      // A filter that never passes a decision, or always all, is not tested: madeUp must vary its field.
      expect([name, counts.some((count) => count > 0), counts.some((count) => count < records.length)]).toEqual([
        ...[name, true, true],
      ])
    }
  })

  onEmpty('lists, counts and totals agree with a plain look at every record', async (store) => {
    const next = random(11)
    const records = Array.from({ length: 120 }, (_, number) => madeUp(number, next))
    const ids = records.map(({ id }) => id)
    await createAll(store, records)
    await embedSome(store, records)
    const counted = (await readDecisions(store.decisions, ids)).map(({ record, indexed }) => countedOf(record, indexed))
    const fields = counted.map((one) => one.fields)
    const chosen = (round: number) =>
      round % 2 === 0 ? [filterNames[(round / 2) % filterNames.length]!] : filterNames.filter(() => next() < 0.12)
    for (let round = 0; round < 150; round++) {
      const filter = filterOf(chosen(round), next)
      const passes = compileFilter(filter)
      const passing = fields.filter(passes)
      const sort = sortNames[round % sortNames.length]!
      const order = next() < 0.5 ? 'asc' : 'desc'
      const [offset, limit] = [Math.floor(next() * 5), 1 + Math.floor(next() * 40)]
      const page = await store.decisions.list({ filter, sort, order, offset, limit })
      const sorted = [...passing].sort(fieldsOrder(sort, order)).map(({ id }) => id)
      expect(page.total).toBe(passing.length)
      expect(page.texts.map(({ id }) => id)).toEqual(sorted.slice(offset, offset + limit))
      const after = next() < 0.2 ? null : fields[Math.floor(next() * fields.length)]!
      const inOrder = fieldsOrder('created_at', 'asc')
      const behind = passing.filter((one) => after === null || inOrder(after, one) < 0).sort(inOrder)
      expect(await store.decisions.walk(filter, after, limit)).toEqual(behind.slice(0, limit))
      const grouped = counted.filter((one) => passes(one.fields))
      for (const by of [[], ['confidence_at_record', 'outcome', 'settled_by'], ['tag', 'project']] as const)
        await expectGroups(store.decisions, filter, by, grouped)
    }
  })

  onEmpty(
    'counts find every spelling of a text, in a transaction too, and one that an update brought',
    async (store) => {
      const next = random(12)
      const records = Array.from({ length: 60 }, (_, number) => madeUp(number, next))
      await createAll(store, records)
      const later = { ...records[1]!, category: 'PLAIN', tags: ['\uff30lain'], project: null }
      await store.transaction((tx) => tx.decisions.put(later, 1))
      const counted = [...records.filter(({ id }) => id !== later.id), later].map((record) => countedOf(record))
      const fields = counted.map((one) => one.fields)
      const filters: CountFilter[] = ['plain', "o'brien", 'nul\0byte', '漢字', ' ', '100%', 'none'].flatMap((text) => {
        const look = skeleton(text)
        const alike = [
          { category: look },
          { project: look },
          { feature: look },
          { tag: look },
          { category: look, tag: look },
        ]
        return alike.flatMap((one) => [{ alike: one }, { alike: one, stakes: ['medium'], tags: ['plain'] }])
      })
      for (const filter of filters) {
        const passes = compileFilter(filter)
        const passing = counted.filter((one) => passes(one.fields))
        for (const by of [[], ['confidence_at_record', 'outcome', 'settled_by']] as const) {
          await expectGroups(store.decisions, filter, by, passing)
          await store.transaction((tx) => expectGroups(tx.decisions, filter, by, passing))
        }
      }
      const spelled = fields.filter(({ category }) => category !== null && skeleton(category) === 'plain')
      expect(spelled.length > fields.filter(({ category }) => category === 'plain').length).toBe(true)
      expect(await countDecisions(store.decisions, { alike: { category: 'plain' } })).toBe(spelled.length)
    },
  )

  onEmpty('stakes sort by rank, ties by id in the same direction', async (store) => {
    const stakes = ['high', 'low', 'critical', 'medium', 'high', 'low'] as const
    await createAll(
      store,
      stakes.map((one, number) => recordOf(number, { stakes: one })),
    )
    const listed = async (order: 'asc' | 'desc') =>
      (await store.decisions.list({ filter: {}, sort: 'stakes', order, offset: 0, limit: 9 })).texts.map(({ id }) => id)
    const ascending = [1, 5, 3, 0, 4, 2].map(idOf)
    expect(await listed('asc')).toEqual(ascending)
    expect(await listed('desc')).toEqual([...ascending].reverse())
  })
}

/** A record whose filtered fields hold awkward values. */
function madeUp(number: number, next: () => number): DecisionRecord {
  const names = [
    'plain',
    'Plain',
    'pl\u0430in',
    "o'brien",
    'a"b',
    '100%',
    'line\nbreak',
    'nul\0byte',
    '漢字',
    ' ',
    '{"a":1}',
  ]
  const pick = <T>(values: readonly T[]) => values[Math.floor(next() * values.length)]!
  return recordOf(number, {
    category: pick([...names, null]),
    recorded_by: pick(names),
    confidence: pick([null, 0, 1e-7, 0.1, 0.30000000000000004, 0.5, 0.85, 1]),
    tags: names.filter(() => next() < 0.2),
    project:
      next() < 0.3
        ? null
        : { name: pick([...names, null]), feature: pick([...names, null]), pr: pick([null, 1, 47]), files: [] },
    confidence_at_record: pick([null, 0.1, 0.5]),
    self_reviewed: pick([null, true, false]),
    attribution_basis: next() < 0.3 ? 'age' : null,
    created_at: pick([
      '1969-12-31T23:59:59.999Z',
      '2026-01-01T00:00:00Z',
      '2026-01-01T00:00:00.001Z',
      '2026-12-31T23:59:59.999Z',
    ]),
  })
}

async function embedSome(store: Store, records: readonly DecisionRecord[]): Promise<void> {
  const vector = Float32Array.of(1, 0)
  await store.transaction(async (tx) => {
    await tx.embeddings.putGeneration({ state: 'building', embedder: 'test:1', dimensions: 2 })
    for (const [at, { id }] of records.entries())
      if (at % 3 > 0)
        await tx.embeddings.put(id, {
          embedder: 'test:1',
          vectors: { structure: vector, function: vector, both: vector },
        })
  })
}
