/** Assertions of the suites whose messages name what was compared, and plain arithmetic. */
import { isStorageError } from '../errors.ts'
import type { VectorHit } from '../search.ts'

export const byDistance = (a: VectorHit, b: VectorHit) => a.distance - b.distance || (a.id < b.id ? -1 : 1)

export function distance(a: Float32Array, b: Float32Array): number {
  return Math.min(2, Math.max(0, 1 - a.reduce((sum, value, i) => sum + value * b[i]!, 0)))
}

/** What a promise rejects with; null if it does not. */
export const thrownBy = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => null,
    (thrown: unknown) => thrown,
  )

export async function refused(promise: Promise<unknown>): Promise<void> {
  const error = await thrownBy(promise)
  check(error !== null, 'it was not refused')
  check(isStorageError(error, 'invalid'), `refused with ${String(error)}, not with a StorageError of kind invalid`)
}

export function equal(actual: unknown, expected: unknown, what: string): void {
  const [a, b] = [JSON.stringify(actual), JSON.stringify(expected)]
  check(a === b, `${what}: ${a}, expected ${b}`)
}

export function check(condition: boolean, message: string): asserts condition {
  if (!condition) throw new Error(message)
}
