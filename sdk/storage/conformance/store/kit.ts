/** Helpers shared by the parts of the store suite. */
import { isStorageError, type StorageErrorKind } from '../../errors.ts'
import type { Store } from '../../store.ts'
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
}

let places = 0

export function kitOf(runner: TestRunner, suite: StoreSuite): Kit {
  return {
    ...runner,
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
    async refused(promise, kind) {
      const error = await promise.then(
        () => 'nothing was thrown',
        (thrown: unknown) => thrown,
      )
      runner.expect(isStorageError(error) ? error.kind : error).toBe(kind)
    },
  }
}
