/** The loaded policy: rules and breakers of all files, compiled, with the hash that names them. */
import { createHash } from 'node:crypto'
import type { BreakerRule } from '../../../sdk/schema/guardrail.ts'
import type { RuleProblem } from '../../../sdk/schema/policy.ts'
import { stableJson } from '../../core/json.ts'
import { type CompiledRule, compileRules } from './evaluate.ts'
import { asksForSession } from './facts.ts'
import { type LoadedRule, parseRules } from './parse.ts'

export interface PolicyFile {
  /** Shown in errors. */
  name: string
  text: string
}

export interface PolicySet {
  rules: CompiledRule[]
  breakers: BreakerRule[]
  /** SHA-256 of the canonical rules and breakers, lowercase hex: equal for equal policies, wherever their files are. */
  hash: string
  /** Whether some rule asks for what happened before in the session: only then is that kept. */
  keeps_sessions: boolean
}

/** The rules in force. */
export interface Policy {
  /** The set in force, at most five minutes old. */
  current(): Promise<PolicySet>
  /** Reads the files now. Returns what is wrong with them; the last valid set then stays in force. */
  reload(): Promise<RuleProblem[]>
  /** What was wrong when the files were last read. */
  errors(): RuleProblem[]
}

/** SHA-256 over the rules and breakers by id and scope, without their positions. */
function policyHash(rules: readonly LoadedRule[], breakers: readonly BreakerRule[]): string {
  const bare = rules
    .map(({ file: _, line: __, column: ___, assumed_match: ____, ...rule }) => ({
      ...rule,
      scope: [rule.scope ?? []].flat(),
    }))
    .sort((a, b) => (a.id < b.id ? -1 : 1))
  const scopes = [...breakers].sort((a, b) => (a.scope < b.scope ? -1 : 1))
  return createHash('sha256')
    .update(stableJson({ breakers: scopes, rules: bare }))
    .digest('hex')
}

/**
 * Builds a policy.
 * @param readTemplate the file of `template: name` beside `file`, or null if there is none
 * @returns the set, or everything that is wrong with the files; never a part of the rules
 */
export async function buildPolicy(
  files: readonly PolicyFile[],
  readTemplate: (name: string, file: PolicyFile) => Promise<PolicyFile | null>,
): Promise<{ set: PolicySet | null; errors: RuleProblem[] }> {
  const errors: RuleProblem[] = []
  const rules = new Map<string, LoadedRule>()
  const breakers = new Map<string, BreakerRule>()
  const loaded = new Set<string>()
  const take = async (file: PolicyFile): Promise<void> => {
    if (loaded.has(file.name)) return
    loaded.add(file.name)
    const parsed = parseRules(file.text, file.name)
    errors.push(...parsed.errors)
    for (const rule of parsed.rules) {
      const { line, column } = rule
      const other = rules.get(rule.id)
      if (!other) rules.set(rule.id, rule)
      else
        errors.push({
          file: file.name,
          line,
          column,
          // The name alone: callers see this, and must not learn the folders of the server.
          message: `the id ${rule.id} is taken by ${other.file.split('/').at(-1)}:${other.line}`,
        })
    }
    for (const { rule, place } of parsed.breakers) {
      if (!breakers.has(rule.scope)) breakers.set(rule.scope, rule)
      else errors.push({ ...place, message: `the circuit breaker ${rule.scope} is declared twice` })
    }
    for (const { name, place } of parsed.templates) {
      const template = /^[A-Za-z0-9][A-Za-z0-9_-]*$/.test(name) ? await readTemplate(name, file) : null
      if (template) await take(template)
      else errors.push({ ...place, message: `there is no template ${name}` })
    }
  }
  for (const file of files) await take(file)
  if (errors.length > 0) return { set: null, errors }
  return { set: compileSet([...rules.values()], [...breakers.values()]), errors }
}

export const compileSet = (rules: readonly LoadedRule[], breakers: BreakerRule[]): PolicySet => ({
  rules: compileRules(rules),
  breakers,
  hash: policyHash(rules, breakers),
  keeps_sessions: asksForSession(rules),
})

/** The name of a rule file; its path is not for callers. */
export const fileName = (path: string): string => path.split('/').at(-1) ?? path
