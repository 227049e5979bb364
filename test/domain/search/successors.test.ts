/** Where a superseded decision's successor stands among hits. */

import { expect, test } from 'bun:test'
import { openMemoryStore } from '../../../docs/examples/driver/store.ts'
import type { Link } from '../../../sdk/schema/decision.ts'
import { readDecision } from '../../../sdk/storage/decisions.ts'
import type { DecisionFields, Store } from '../../../sdk/storage/store.ts'
import { successorsFirst } from '../../../src/domain/search/precedent.ts'
import { analyse } from '../../../src/domain/search/terms.ts'
import { recordOf, testStart } from '../../support/record.ts'

const idOf = (name: string) => `2026-07-01-decision-${name}`
const supersedes = (target: string): Link => ({
  target_id: idOf(target),
  edge_type: 'supersedes',
  weight: 1,
  context: null,
  created_at: '2026-07-01T12:00:00.000Z',
  created_by: 'alice',
  effective: true,
})

/** A store with these decisions; `b>a` says that b supersedes a. Categories are the names. */
async function storeOf(names: string, edges: string): Promise<Store> {
  const store = openMemoryStore({ analyse, now: () => testStart })
  const links = edges
    .split(' ')
    .filter(Boolean)
    .map((edge) => edge.split('>') as [string, string])
  await store.transaction(async (tx) => {
    for (const name of names) {
      const own = links.filter(([source]) => source === name).map(([, target]) => supersedes(target))
      await tx.decisions.put(recordOf({ id: idOf(name), category: name, links: own }), 0)
    }
  })
  return store
}

/** The order of `ranked` as text, such as `b a<b`: a, which b supersedes, is listed under b. */
async function orderOf(ranked: string, edges: string, passes: (fields: DecisionFields) => boolean = () => true) {
  const store = await storeOf('abcdefghijklmnopq', edges)
  const order = await successorsFirst(store, [...ranked].map(idOf), passes)
  return order
    .map(({ id, superseded_by }) => id.slice(-1) + (superseded_by ? `<${superseded_by.slice(-1)}` : ''))
    .join(' ')
}

test.each([
  ['nothing superseded', 'abc', '', 'a b c'],
  ['a successor that ranked lower is moved up', 'abc', 'c>a', 'c a<c b'],
  ['a successor that was not ranked is brought in', 'ab', 'd>b', 'a d b<d'],
  ['a successor that ranked higher stays there', 'cab', 'c>b', 'c a b<c'],
  ['a chain stands newest first', 'abc', 'b>a c>b', 'c b<c a<b'],
  ['a chain whose middle was not ranked', 'a', 'b>a c>b', 'c b<c a<b'],
  ['one successor of two', 'ab', 'c>a c>b', 'c a<c b<c'],
  ['two successors of one', 'a', 'c>a b>a', 'b c a<b'],
  ['each is listed once', 'abcd', 'c>a c>b d>c', 'd c<d a<c b<c'],
  ['a cycle of two', 'ab', 'a>b b>a', 'b a<b'],
  ['a cycle of three', 'abc', 'b>a c>b a>c', 'c b<c a<b'],
  ['a cycle beside a chain', 'abd', 'a>b b>a d>a', 'b d a<b'],
])('%s', async (_, ranked, edges, expected) => {
  expect(await orderOf(ranked, edges)).toBe(expected)
})

test('a successor that the filter drops is named but not shown, and its own successor is', async () => {
  const not = (name: string) => (fields: DecisionFields) => fields.category !== name
  expect(await orderOf('ab', 'c>a', not('c'))).toBe('a<c b')
  expect(await orderOf('ab', 'c>a d>c', not('d'))).toBe('c<d a<c b')
})

/** The same where capitals are decisions of mallory, and every edge is said by the recorder of its target. */
async function retired(ranked: string, edges: string, curator?: string): Promise<string> {
  const by = (name: string) => (name === name.toUpperCase() ? 'mallory' : 'alice')
  const store = openMemoryStore({ analyse, now: () => testStart })
  const pairs = edges.split(' ').map((edge) => edge.split('>') as [string, string])
  const lower = (name: string) => idOf(name === name.toUpperCase() ? `m${name.toLowerCase()}` : name)
  await store.transaction(async (tx) => {
    for (const name of 'abcdABCD') {
      const links = pairs
        .filter(([source]) => source === name)
        .map(([, target]) => ({ ...supersedes('x'), target_id: lower(target), created_by: curator ?? by(target) }))
      await tx.decisions.put(recordOf({ id: lower(name), recorded_by: by(name), links }), 0)
    }
  })
  const order = await successorsFirst(store, [...ranked].map(lower), () => true)
  const nameOf = (id: string) => id.replace(/.*-(m?)(.)$/, (_, own, name) => (own ? name.toUpperCase() : name))
  return order.map(({ id, superseded_by: by }) => nameOf(id) + (by ? `<${nameOf(by)}` : '')).join(' ')
}

test.each([
  ['a retired decision moves down to the successor of somebody else', 'Aabc', 'c>A', 'a b c A<c'],
  ['the same of several', 'AaBbc', 'b>A b>B', 'a b A<b B<b c'],
  ['one that is above already stays', 'cAab', 'c>A', 'c A<c a b'],
  ['one that was not ranked comes below', 'Aab', 'd>A', 'A<d d a b'],
  ['an own successor moves up as ever', 'AaB', 'B>A', 'B A<B a'],
  ['an own chain that ends at somebody else moves nobody', 'AabB', 'B>A b>B', 'B<b A<B a b'],
  ['two that wait for each other come last', 'AaB', 'a>A A>a', 'B A<a a<A'],
])('nobody ranks others: %s', async (_, ranked, edges, expected) => {
  expect(await retired(ranked, edges)).toBe(expected)
})

test('what a curator retires is replaced where it is', async () => {
  expect(await retired('Aabc', 'c>A', 'curator')).toBe('c A<c a b')
})

test('other edges move nothing', async () => {
  const store = await storeOf('ab', '')
  await store.transaction(async (tx) => {
    const found = (await readDecision(tx.decisions, idOf('b')))!
    const links = (['refines', 'relates_to', 'contradicts'] as const).map((edge_type) => ({
      ...supersedes('a'),
      edge_type,
    }))
    await tx.decisions.put({ ...found.record, links }, found.revision)
  })
  expect(await successorsFirst(store, [idOf('a')], () => true)).toEqual([{ id: idOf('a'), superseded_by: null }])
})

test('a long chain ends', async () => {
  const names = 'abcdefghijklmnopq'
  const edges = [...names]
    .slice(1)
    .map((name, index) => `${name}>${names[index]}`)
    .join(' ')
  const order = (await orderOf('a', edges)).split(' ')
  expect(order.at(-1)).toBe('a<b')
  expect(order.length).toBe(11)
})
