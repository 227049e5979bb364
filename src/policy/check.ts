/** Checks rule files for their author: what does not load, and what loads but is suspicious; and loads a set for replays and backtests. */
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { RuleProblem } from '../../sdk/schema/policy.ts'
import { openLists } from '../domain/guardrail/closed.ts'
import { type Claims, claimsIn, type LintFinding, lintRules } from '../domain/guardrail/lint.ts'
import type { PolicySet } from '../domain/guardrail/set.ts'
import { PolicyError, readFiles, readPolicy, ruleFilesIn } from './files.ts'

interface CheckReport {
  rules: number
  circuit_breakers: number
  /** Of the rules that a server would load; null if they don't load. */
  policy_hash: string | null
  errors: RuleProblem[]
  findings: LintFinding[]
  /** Of each rule the fields that only the agent vouches for. */
  claims: Claims[]
}

const isDirectory = async (path: string): Promise<boolean> => (await stat(path)).isDirectory()

/** Templates are not loaded until a file names them; each is checked by itself. */
async function templatesIn(directory: string): Promise<{ set: PolicySet | null; errors: RuleProblem[] }[]> {
  const names = await ruleFilesIn(join(directory, 'templates')).catch(() => [])
  return Promise.all(names.map((name) => readFiles([name])))
}

/** Checks directories or files, with the templates beside them; the shipped rules for null. */
export async function checkRules(paths: readonly string[] | null, lists = openLists): Promise<CheckReport> {
  const files: string[] = []
  const directories: string[] = []
  for (const path of paths ?? []) ((await isDirectory(path)) ? directories : files).push(path)
  const main = files.length > 0 ? await readFiles(files) : await readPolicy(paths === null ? null : directories, lists)
  const sets = [main, ...(await Promise.all(directories.map(templatesIn))).flat()]
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
    claims: once(loaded.flatMap(claimsIn), ({ rule }) => rule),
  }
}

// The command line may not import the domain; these are what it needs of it.
export { compileArchived } from '../domain/guardrail/archive.ts'
export { type Backtest, backtest, backtestShadows, shadowsOf, type Tally } from '../domain/guardrail/backtest.ts'
export { type Replayed, replay } from '../domain/guardrail/replay.ts'

/** @param paths directories, or one file; null for the shipped rules. @throws PolicyError with everything that is wrong */
export async function loadRules(paths: readonly string[] | null, lists = openLists): Promise<PolicySet> {
  const [first] = paths ?? []
  const single = first !== undefined && paths!.length === 1 && !(await isDirectory(first))
  const { set, errors } = single ? await readFiles([first], lists) : await readPolicy(paths, lists)
  if (!set) throw new PolicyError(errors)
  return set
}
