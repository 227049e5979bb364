/** Checks rule files for their author: rules that do not load, and suspicious ones that do. Also loads sets for replays and backtests. */
import { join } from 'node:path'
import type { RuleProblem } from '../../sdk/schema/policy.ts'
import { type Claims, claimsIn, type LintFinding, lintRules } from '../domain/policy/rules/lint.ts'
import type { PolicySet, Replacement } from '../domain/policy/rules/set.ts'
import { openLists } from '../domain/policy/rules/set.ts'
import { PolicyError, readPolicy, ruleFilesIn } from './files.ts'

interface CheckReport {
  rules: number
  circuit_breakers: number
  /** Hash of the rules that a server would load; null if they don't load. */
  policy_hash: string | null
  errors: RuleProblem[]
  findings: LintFinding[]
  /** Rules on a text that hooks don't tell, by these settings. */
  untold: string[]
  /** For each rule, the fields that only the agent vouches for. */
  claims: Claims[]
  /** Rules and circuit breakers that replace shipped ones. */
  replaced: Replacement[]
  /** Directories without a rule file. */
  empty: string[]
}

/** Templates are not loaded until a file names them, so each is checked by itself. */
async function templatesIn(place: string) {
  const names = await ruleFilesIn(join(place, 'templates')).catch(() => [])
  return Promise.all(names.map((name) => readPolicy([name])))
}

/** Checks the rules that a server would load from these places, and the templates next to them. */
export async function checkRules(
  places: readonly string[],
  lists: Parameters<typeof readPolicy>[1] = openLists,
): Promise<CheckReport> {
  const main = await readPolicy(places, lists)
  const sets = [main, ...(await Promise.all(places.map(templatesIn))).flat()]
  const loaded = sets.map(({ set }) => set?.rules.map(({ rule }) => rule) ?? [])
  // A template that a file names is in two sets.
  const once = <T extends { file: string; line: number }>(all: readonly T[], keyOf: (one: T) => string): T[] => [
    ...new Map(all.map((one) => [`${one.file}:${one.line}:${keyOf(one)}`, one])).values(),
  ]
  return {
    rules: main.set?.rules.length ?? 0,
    circuit_breakers: main.set?.breakers.length ?? 0,
    policy_hash: main.set?.hash ?? null,
    errors: sets.flatMap(({ errors }) => errors),
    findings: once(loaded.flatMap(lintRules), ({ message }) => message),
    untold: main.untold,
    claims: once(loaded.flatMap(claimsIn), ({ rule }) => rule),
    replaced: main.replaced,
    empty: main.empty,
  }
}

export { compileArchived } from '../domain/policy/judge/archive.ts'
export type { PolicySet } from '../domain/policy/rules/set.ts'
// The command line may not import the domain; these are the parts that it needs.
export { listsIn } from '../domain/policy/rules/set.ts'
export { type Backtest, backtest, backtestShadows, type Tally } from '../domain/policy/trial/backtest.ts'
export { type Replay, type Replayed, replayAll } from '../domain/policy/trial/replay.ts'

/** @throws PolicyError with everything that is wrong */
export async function loadRules(
  places: readonly string[],
  lists: Parameters<typeof readPolicy>[1] = openLists,
): Promise<PolicySet> {
  const { set, errors } = await readPolicy(places, lists)
  if (!set) throw new PolicyError(errors)
  return set
}
