/** A set of rules from paths, for those who judge the past by it. */
import type { PolicySet } from '../domain/guardrail/set.ts'
import { isDirectory } from './check.ts'
import { PolicyError, readFiles, readPolicy } from './files.ts'

export type { RuleError } from '../domain/guardrail/positions.ts'
export type { PolicySet } from '../domain/guardrail/set.ts'
export { type Backtest, backtest, type Replayed, replay, type Tally } from '../domain/guardrail/what-if.ts'

/** @param paths directories, or one file; null for the shipped rules. @throws PolicyError with all that is wrong */
export async function loadRules(paths: readonly string[] | null): Promise<PolicySet> {
  const [first] = paths ?? []
  const single = first !== undefined && paths!.length === 1 && !(await isDirectory(first))
  const { set, errors } = single ? await readFiles([first]) : await readPolicy(paths)
  if (!set) throw new PolicyError(errors)
  return set
}
