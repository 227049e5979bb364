/** What the suites need of a test runner; those of bun:test, vitest and jest fit. */

/** What `expect` gives. */
export interface Expectation {
  /** Fails unless both are the same. */
  toBe(expected: unknown): void
  /** Fails unless both have the same content. */
  toEqual(expected: unknown): void
  readonly not: Expectation
}

/** The functions of a test runner. */
export interface TestRunner {
  /** Groups tests. */
  describe(name: string, body: () => void): void
  /** One test; it fails when its promise rejects. */
  test(name: string, body: () => Promise<void>): void
  /** Says what is expected of a value. */
  expect(actual: unknown): Expectation
}
