/** Rule files looked at as an author wants it: what does not load, and what loads but is suspicious. */
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { type LintFinding, lintRules } from '../domain/guardrail/lint.ts'
import type { RuleError } from '../domain/guardrail/positions.ts'
import type { PolicySet } from '../domain/guardrail/set.ts'
import { PolicyError, readFiles, readPolicy, ruleFilesIn } from './files.ts'

export interface CheckReport {
  rules: number
  circuit_breakers: number
  /** Of the rules that a server would load; null where they don't. */
  policy_hash: string | null
  errors: RuleError[]
  findings: LintFinding[]
}

export const isDirectory = async (path: string): Promise<boolean> => (await stat(path)).isDirectory()

/** Templates are not loaded until a file names them; each is looked at by itself. */
async function templatesIn(directory: string): Promise<{ set: PolicySet | null; errors: RuleError[] }[]> {
  const names = await ruleFilesIn(join(directory, 'templates')).catch(() => [])
  return Promise.all(names.map((name) => readFiles([name])))
}

/** Checks directories or files, with the templates beside them; the shipped rules for null. */
export async function checkRules(paths: readonly string[] | null): Promise<CheckReport> {
  const files: string[] = []
  const directories: string[] = []
  for (const path of paths ?? []) ((await isDirectory(path)) ? directories : files).push(path)
  const main = files.length > 0 ? await readFiles(files) : await readPolicy(paths === null ? null : directories)
  const sets = [main, ...(await Promise.all(directories.map(templatesIn))).flat()]
  const seen = new Set<string>()
  const findings = sets
    .flatMap(({ set }) => lintRules(set?.rules.map(({ rule }) => rule) ?? []))
    .filter((one) => {
      const key = `${one.file}:${one.line}:${one.message}`
      return !seen.has(key) && seen.add(key)
    })
  return {
    rules: main.set?.rules.length ?? 0,
    circuit_breakers: main.set?.breakers.length ?? 0,
    policy_hash: main.set?.hash ?? null,
    errors: sets.flatMap(({ errors }) => errors),
    findings,
  }
}

// A set of rules from paths, for those who judge the past by it.

export { type Backtest, backtest, type Replayed, replay, type Tally } from '../domain/guardrail/backtest.ts'
export type { RuleError } from '../domain/guardrail/positions.ts'
export type { PolicySet } from '../domain/guardrail/set.ts'

/** @param paths directories, or one file; null for the shipped rules. @throws PolicyError with all that is wrong */
export async function loadRules(paths: readonly string[] | null): Promise<PolicySet> {
  const [first] = paths ?? []
  const single = first !== undefined && paths!.length === 1 && !(await isDirectory(first))
  const { set, errors } = single ? await readFiles([first]) : await readPolicy(paths)
  if (!set) throw new PolicyError(errors)
  return set
}
