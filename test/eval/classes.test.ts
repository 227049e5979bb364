/** A small form of `bun run eval --classes`: the rules hold for the shop's decisions with the real model, and a broken one is noticed. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { Embedder } from '../../sdk/storage/embedder.ts'
import { openLocalEmbedder } from '../../src/drivers/embedder/local/driver.ts'
import { broken, partOf, type Row, rowsOf, shop, type Told } from './classes.ts'
import { lossesOf, signTest } from './losses.ts'

let embedder: Embedder
beforeAll(async () => {
  embedder = await openLocalEmbedder()
})
afterAll(() => embedder.close())

test('hybrid loses to neither leg, and says what has a precedent, with the decisions of the shop', async () => {
  const [row] = await rowsOf(embedder, await shop(), [26])
  expect(broken(row!)).toEqual([])
  const outcomes = row!.told.filter(({ by, kind }) => by === 'hybrid' && kind === 'outcome')
  const first = outcomes.filter(({ ranked, expected }) => expected.includes(ranked[0]!))
  expect(first.length / outcomes.length).toBeGreaterThanOrEqual(0.85)
})

test('a part has so many decisions, and only questions that it answers or that nothing does', async () => {
  const { decisions, questions } = partOf(await shop(), 5, 1)
  const held = new Set(decisions.map(({ source }) => source))
  expect(held.size).toBe(5)
  for (const { kind, expect: expected } of questions)
    expect(kind === 'off-topic' || (expected.length > 0 && expected.every((one) => held.has(one)))).toBe(true)
})

test.each([
  [1, 0, 0.5],
  [2, 1, 0.5],
  [5, 0, 1 / 32],
  [6, 1, 1 / 16],
])('chance gives %i lost and %i won questions with a probability of %p', (lost, won, p) =>
  expect(signTest(lost, won)).toBeCloseTo(p, 12),
)

test('each broken rule is reported', () => {
  const answer = (by: string, at: number): Told => ({
    by,
    kind: 'everyday',
    expected: ['a'],
    ranked: ['b', 'c', 'd', 'e', 'f', 'g'].toSpliced(at, 0, 'a'),
    precedent: by === 'hybrid' ? 'none' : null,
  })
  const told = Array.from({ length: 10 }, () => [
    answer('hybrid', 6),
    answer('semantic', 0),
    answer('keyword', 1),
  ]).flat()
  const off: Told = { by: 'hybrid', kind: 'off-topic', expected: [], ranked: [], precedent: 'found' }
  const row: Row = { corpus: 'one', size: 10, draws: 1, told: [...told, off] }
  expect(lossesOf(row)).toContainEqual(
    expect.objectContaining({ kind: 'all', k: 1, leg: 'semantic', lost: 10, won: 0 }),
  )
  expect(broken(row).join('\n')).toMatch(/recall@1.*recall@5.*denied.*recognised/s)
})
