/** The suite that checks a driver against the search port. */
import type { TestRunner } from './runner.ts'
import { testChanges } from './search/changes.ts'
import { testKeyword } from './search/keyword.ts'
import { kitOf, type SearchSuite } from './search/kit.ts'
import { testNearest } from './search/nearest.ts'

export type { SearchSuite } from './search/kit.ts'

/**
 * Registers the suite with `runner`.
 * @example
 * ```ts
 * import * as runner from 'bun:test'
 * testSearch(runner, { name: 'mine', open: (place) => openMine({ place }) })
 * ```
 */
export function testSearch(runner: Pick<TestRunner, 'describe' | 'test'>, suite: SearchSuite): void {
  const kit = kitOf(runner, suite)
  for (const [part, register] of Object.entries({ changes: testChanges, nearest: testNearest, keyword: testKeyword }))
    runner.describe(`search: ${suite.name}: ${part}`, () => register(kit))
}
