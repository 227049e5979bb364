/** The loaded policy: rules and breakers of all files, compiled, with the hash that names them. */
import { createHash } from 'node:crypto'
import type { BreakerRule } from '../../../sdk/schema/guardrail.ts'
import { stableJson } from '../idempotency.ts'
import { type CompiledRule, compileRules } from './evaluate.ts'
import { type LoadedRule, parseRules, type RuleError } from './parse.ts'

export interface PolicyFile {
  /** As it is shown in errors. */
  name: string
  text: string
}

export interface PolicySet {
  rules: CompiledRule[]
  breakers: BreakerRule[]
  /** SHA-256 of the canonical rules and breakers, lowercase hex: equal for equal policies, wherever their files lie. */
  hash: string
}

/** SHA-256 over the rules and breakers by id and scope, without where they stand. */
export function policyHash(rules: readonly LoadedRule[], breakers: readonly BreakerRule[]): string {
  const bare = rules.map(({ file: _, line: __, ...rule }) => rule).sort((a, b) => (a.id < b.id ? -1 : 1))
  const scopes = [...breakers].sort((a, b) => (a.scope < b.scope ? -1 : 1))
  return createHash('sha256')
    .update(stableJson({ breakers: scopes, rules: bare }))
    .digest('hex')
}

/**
 * Builds a policy.
 * @param readTemplate the file of `template: name` beside `file`, or null where there is none
 * @returns the set, or everything that is wrong with the files; never a part of them
 */
export async function buildPolicy(
  files: readonly PolicyFile[],
  readTemplate: (name: string, file: PolicyFile) => Promise<PolicyFile | null>,
): Promise<{ set: PolicySet | null; errors: RuleError[] }> {
  const errors: RuleError[] = []
  const rules: LoadedRule[] = []
  const breakers: BreakerRule[] = []
  const loaded = new Set<string>()
  const take = async (file: PolicyFile): Promise<void> => {
    if (loaded.has(file.name)) return
    loaded.add(file.name)
    const parsed = parseRules(file.text, file.name)
    errors.push(...parsed.errors)
    for (const rule of parsed.rules) {
      const other = rules.find(({ id }) => id === rule.id)
      if (other)
        errors.push({
          file: file.name,
          line: rule.line,
          column: 1,
          message: `the id ${rule.id} is taken by ${other.file}:${other.line}`,
        })
      else rules.push(rule)
    }
    for (const breaker of parsed.breakers) {
      if (breakers.some(({ scope }) => scope === breaker.scope))
        errors.push({
          file: file.name,
          line: 1,
          column: 1,
          message: `the circuit breaker ${breaker.scope} is declared twice`,
        })
      else breakers.push(breaker)
    }
    for (const name of parsed.templates) {
      const template = /^[A-Za-z0-9][A-Za-z0-9_-]*$/.test(name) ? await readTemplate(name, file) : null
      if (template) await take(template)
      else errors.push({ file: file.name, line: 1, column: 1, message: `there is no template ${name}` })
    }
  }
  for (const file of files) await take(file)
  if (errors.length > 0) return { set: null, errors }
  return { set: { rules: compileRules(rules), breakers, hash: policyHash(rules, breakers) }, errors }
}
