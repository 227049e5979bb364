/** Helpers shared by the parts of the store suite. */

import { type CountedDecision, groupDecisions } from '../../counted.ts'
import { isStorageError, type StorageErrorKind } from '../../errors.ts'
import { compareText } from '../../fields.ts'
import type { CountFilter, DecisionReader, GroupKey, Store, Transaction } from '../../store.ts'
import { thrownBy } from '../check.ts'
import type { TestRunner } from '../runner.ts'

/** A store driver under test. */
export interface StoreSuite {
  /** Title of the report, such as `sqlite`. */
  name: string
  /** Opens the driver with {@link suiteOptions} on the data at `place`, which is empty if the name is new. */
  open(place: string): Promise<Store>
  /** True if a place can be opened again, by another process or after closing, with its data. */
  shared: boolean
}

export interface Kit extends TestRunner {
  shared: boolean
  /** Runs `body` on an empty store; `again` opens a second one on the same place. All are closed afterwards. */
  onEmpty(title: string, body: (store: Store, again: () => Promise<Store>) => Promise<void>): void
  /** Expects `promise` to reject with a storage error of this kind. */
  refused(promise: Promise<unknown>, kind: StorageErrorKind): Promise<void>
  /** Expects a transaction of this work to be refused. */
  refusedIn(store: Store, kind: StorageErrorKind, work: (tx: Transaction) => Promise<unknown>): Promise<void>
  /** Expects the groups of a filter to be those of the decisions that pass it. */
  expectGroups(
    decisions: Pick<DecisionReader, 'groups'>,
    filter: CountFilter,
    by: readonly GroupKey[],
    passing: readonly CountedDecision[],
  ): Promise<void>
}

/** Groups as texts in a fixed order, as a driver may return them in any. */
const inOrder = (groups: readonly object[]): string[] =>
  groups.map((group) => JSON.stringify(Object.entries(group).sort(([a], [b]) => compareText(a, b)))).sort(compareText)

let places = 0

export function kitOf(runner: TestRunner, suite: StoreSuite): Kit {
  const refused: Kit['refused'] = async (promise, kind) => {
    const error = await thrownBy(promise)
    runner.expect(isStorageError(error) ? error.kind : error).toBe(kind)
  }
  return {
    ...runner,
    refused,
    refusedIn: (store, kind, work) => refused(store.transaction(work), kind),
    shared: suite.shared,
    onEmpty(title, body) {
      runner.test(title, async () => {
        const place = `place-${places++}`
        const opened: Store[] = []
        const again = async () => {
          const store = await suite.open(place)
          opened.push(store)
          return store
        }
        try {
          await body(await again(), again)
        } finally {
          for (const store of opened) await store.close()
        }
      })
    },
    async expectGroups(decisions, filter, by, passing) {
      const found = inOrder(await decisions.groups(filter, by))
      runner.expect([filter, by, found]).toEqual([filter, by, inOrder(groupDecisions(passing, by))])
    },
  }
}
