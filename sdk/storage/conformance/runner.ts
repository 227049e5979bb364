/** What the suites need of a test runner; those of bun:test, vitest and jest fit. */

export interface Expectation {
  toBe(expected: unknown): void
  toEqual(expected: unknown): void
  readonly not: Expectation
}

export interface TestRunner {
  describe(name: string, body: () => void): void
  test(name: string, body: () => Promise<void>): void
  expect(actual: unknown): Expectation
}
