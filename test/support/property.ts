/** fast-check, whose properties run `CSTP_RUNS` times as often as each test says: 1 by default. Every property test imports it from here. */
import * as check from 'fast-check'

export * from 'fast-check'

const factor = Number(process.env.CSTP_RUNS ?? 1)

/** Checks a property as {@link check.assert} does, on the given number of runs times `CSTP_RUNS`. */
export const assert: typeof check.assert = ((
  property: check.IRawProperty<unknown>,
  given?: check.Parameters<unknown>,
) => check.assert(property, { ...given, numRuns: Math.ceil((given?.numRuns ?? 100) * factor) })) as typeof check.assert
