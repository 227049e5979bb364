/** Rules that a repository has in `.cstp/guardrails`, as the hook read them. They stop more calls, and never allow or change one. */

import type { Violation } from '../../../sdk/schema/policy.ts'
import { sha256Hex } from '../../core/digest.ts'
import { type Action, EvaluationError } from '../policy/rules/action.ts'
import { limitSteps } from '../policy/rules/cel.ts'
import type { CompiledRule } from '../policy/rules/compiled.ts'
import { evaluate } from '../policy/rules/evaluate.ts'
import type { History } from '../policy/rules/history.ts'
import { ofProject } from '../policy/rules/packs.ts'
import type { Policy } from '../policy/rules/set.ts'
import { maxRuleFiles, type ProjectFile } from './event.ts'

const [maxText, maxRules, maxMatches] = [65_536, 64, 8]
/** Of expressions over texts, for all rules together. */
const maxSteps = 4_000_000

/** Rules, or why there are none. */
type Read = { rules: CompiledRule[] } | { problem: string }

/** Why a rule may not come from a repository: its authors would decide what a call becomes, or who approves it. */
const problemOf = ({ rule }: CompiledRule): string | null =>
  rule.action !== 'block' || rule.requires.length > 0 || rule.record !== undefined || rule.hide !== undefined
    ? `${rule.file}:${rule.line}: ${rule.id}: a rule of a repository only blocks, by conditions and required fields`
    : null

async function read({ draft }: Pick<Policy, 'draft'>, files: readonly ProjectFile[]): Promise<Read> {
  const size = files.reduce((sum, { text }) => sum + (text?.length ?? 0), 0)
  if (files.length > maxRuleFiles || size > maxText)
    return { problem: `more than ${maxRuleFiles} files or ${maxText} characters` }
  const rules: CompiledRule[] = []
  for (const { file, text } of files) {
    if (text === null) return { problem: `${file} is no regular file of at most ${maxText} characters` }
    const { set, errors } = await draft({ name: file, text })
    const [error] = errors
    if (set === null)
      return { problem: error ? `${error.file}:${error.line}: ${error.message}` : `${file} does not load` }
    if (set.breakers.length > 0) return { problem: `${file}: a circuit breaker of a repository is not applied` }
    rules.push(...set.rules)
  }
  const matches = JSON.stringify(rules.map(({ rule }) => rule.conditions)).match(/matches/g)?.length ?? 0
  const problem =
    rules.length > maxRules
      ? `more than ${maxRules} rules`
      : matches > maxMatches
        ? `more than ${maxMatches} uses of matches()`
        : rules.map(problemOf).find((one) => one !== null)
  return problem ? { problem } : { rules: rules.filter(({ rule }) => rule.mode === 'enforce') }
}

/** What was read of the same files before. Clients send them with each call. */
const known = new Map<string, Promise<Read>>()
const maxKnown = 16

function readOnce(policy: Pick<Policy, 'draft'>, files: readonly ProjectFile[]): Promise<Read> {
  const key = sha256Hex(JSON.stringify(files))
  const found = known.get(key) ?? read(policy, files)
  known.delete(key)
  known.set(key, found)
  if (known.size > maxKnown) known.delete(known.keys().next().value!)
  found.catch(() => known.delete(key))
  return found
}

/** A past that is not shown: the authors of a repository would learn of it by what is stopped. */
const noPast = (now_ms: number): History =>
  new Proxy({} as History, {
    get(_, name) {
      if (name === 'now') return () => now_ms
      if (name === 'ofChanged') return () => noPast(now_ms)
      return async () => {
        throw new EvaluationError('a rule of a repository cannot ask about the past')
      }
    },
  })

/** What the rules of a repository stop, and why they are not applied if they can't be. */
export async function projectStops(
  policy: Pick<Policy, 'draft'>,
  files: readonly ProjectFile[],
  action: Action,
  now_ms: number,
  onFault: (rule: string, error: unknown) => void,
): Promise<{ stops: Violation[]; problem: string | null }> {
  if (files.length === 0) return { stops: [], problem: null }
  const found = await readOnce(policy, files)
  if ('problem' in found) return { stops: [], problem: found.problem }
  const judged = { ...action }
  limitSteps(judged, maxSteps)
  const { violations } = await evaluate(found.rules, judged, noPast(now_ms), onFault)
  return { stops: violations.map((one) => ({ ...one, guardrail_id: ofProject(one.guardrail_id) })), problem: null }
}
