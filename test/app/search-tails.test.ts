/** What a server sets of its search index. */
import { expect, test } from 'bun:test'
import { tailMost } from '../../src/app/search.ts'

test('servers of one database don’t fill their tails at the same change, and none holds many more than one alone', () => {
  const shared = { store_url: 'postgres://host/db' }
  expect([0, 0.5, 0.9999].map((random) => tailMost(shared, () => random))).toEqual([20_000, 23_000, 25_999])
  expect(new Set(Array.from({ length: 20 }, () => tailMost(shared))).size).toBeGreaterThan(10)
  expect(tailMost({ store_url: null }, () => 0.5)).toBe(20_000)
})
