/** The parts of a test runner that the suites use; those of bun:test, vitest and jest fit. */

/** The return value of `expect`. */
export interface Expectation {
  /** Fails unless both are identical. */
  toBe(expected: unknown): void
  /** Fails unless both have equal content. */
  toEqual(expected: unknown): void
  readonly not: Expectation
}

/** The functions of a test runner. */
export interface TestRunner {
  /** Groups tests. */
  describe(name: string, body: () => void): void
  /** Defines one test; it fails if its promise rejects. */
  test(name: string, body: () => Promise<void>): void
  /** Starts an assertion about a value. */
  expect(actual: unknown): Expectation
}
