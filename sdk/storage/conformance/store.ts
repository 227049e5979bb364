/** The suite that checks a driver against the store port. */
import type { TestRunner } from './runner.ts'
import { testCoordination } from './store/coordination.ts'
import { testCounters } from './store/counters.ts'
import { testDecisions } from './store/decisions.ts'
import { testEmbeddings } from './store/embeddings.ts'
import { testErasure } from './store/erasure.ts'
import { kitOf, type StoreSuite } from './store/kit.ts'
import { testShared } from './store/shared.ts'
import { testThread } from './store/thread.ts'
import { testTransactions } from './store/transactions.ts'

export type { StoreSuite } from './store/kit.ts'
export { suiteOptions } from './store/records.ts'

/**
 * Registers the suite with `runner`. The driver must be opened with {@link suiteOptions}.
 * @example
 * ```ts
 * import * as runner from 'bun:test'
 * storeConformance(runner, { name: 'mine', open: (place) => openMine({ ...suiteOptions, place }), shared: true })
 * ```
 */
export function storeConformance(runner: TestRunner, suite: StoreSuite): void {
  const kit = kitOf(runner, suite)
  const parts = {
    decisions: testDecisions,
    transactions: testTransactions,
    embeddings: testEmbeddings,
    counters: testCounters,
    thread: testThread,
    erasure: testErasure,
  }
  for (const [part, register] of Object.entries({ ...parts, coordination: testCoordination }))
    runner.describe(`store: ${suite.name}: ${part}`, () => register(kit))
  if (suite.shared) runner.describe(`store: ${suite.name}: shared`, () => testShared(kit))
}
