/** The loaded policy: rules and breakers of all files, compiled, with the hash that names them. */
import { createHash } from 'node:crypto'
import type { BreakerRule } from '../../../../sdk/schema/guardrail.ts'
import type { RuleProblem } from '../../../../sdk/schema/policy.ts'
import { stableJson } from '../../../core/canonical.ts'
import { type CompiledRule, compileRules } from './compiled.ts'
import { asksForSession } from './fact-names.ts'
import { type LoadedRule, parseRules } from './parse.ts'

export interface PolicyFile {
  /** Shown in errors. */
  name: string
  text: string
  /** Part of the program: rules and breakers of other files replace its own with the same id or scope. */
  shipped?: true
  /** Of the service, for one of its workspaces: other files replace nothing of it. */
  inherited?: boolean
}

/** A rule or breaker that replaces a shipped one. */
export interface Replacement {
  /** `the rule <id>` or `the circuit breaker <scope>`. */
  what: string
  file: string
  line: number
}

/** A set, or everything that is wrong with its files. */
export interface Built {
  set: PolicySet | null
  errors: RuleProblem[]
  replaced: Replacement[]
}

export interface PolicySet {
  rules: CompiledRule[]
  breakers: BreakerRule[]
  /** SHA-256 of the canonical rules and breakers, lowercase hex: equal for equal policies, wherever their files are. */
  hash: string
  /** Whether some rule uses session facts. Sessions are stored only then. */
  keeps_sessions: boolean
}

/** The rules in force. */
export interface Policy {
  /** The set in force: that of the files a few seconds ago. */
  current(): Promise<PolicySet>
  /** Reads the files now. Returns what is wrong with them; if anything is, the last valid set stays in force. */
  reload(): Promise<RuleProblem[]>
  /** What was wrong when the files were last read. */
  errors(): RuleProblem[]
  /** Compiles a file that is not in force. It may load shipped templates, but no file of the server. */
  draft(file: PolicyFile): Promise<Built>
  /** Adds a file to the folder of rules, and puts it in force. It is not added if that would fail. */
  add(name: string, text: string): Promise<Added>
}

/** Path of the new file; null if it was not added: because of `errors`, or, if there are none, because no rule folder is writable. */
export interface Added {
  file: string | null
  errors: RuleProblem[]
}

/** SHA-256 over the rules and breakers, sorted by id and scope, without their positions. */
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
 * @param parse reads the text of a file
 * @param readTemplate reads the template that `file` names; null if there is none
 * @returns the set, or everything that is wrong with the files; never a part of the rules
 */
export async function buildPolicy(
  files: readonly PolicyFile[],
  readTemplate: (name: string, file: PolicyFile) => Promise<PolicyFile | null>,
  parse = parseRules,
): Promise<Built> {
  const errors: RuleProblem[] = []
  const replaced: Replacement[] = []
  const named = <T>() => new Map<string, Named<T>>()
  const [rules, breakers] = [named<LoadedRule>(), named<BreakerRule>()]
  const loaded = new Set<string>()
  /** If two have the same name, the one that is not shipped is kept, at the position of the first. */
  const keep = <T>(all: Map<string, Named<T>>, kind: string, name: string, one: Named<T>): void => {
    const other = all.get(name)
    if (other && one.shipped === other.shipped) {
      // Only the name of the file: callers see this, and must not learn the folders of the server.
      const message = `${kind} ${name} is already declared in ${fileName(other.place.file)}:${other.place.line}`
      errors.push({ ...one.place, message })
      return
    }
    const own = other?.shipped === false ? other : one
    if (other && (one.inherited || other.inherited) && !own.inherited)
      errors.push({ ...own.place, message: `${kind} ${name} is one of the service, which a workspace can't replace` })
    all.set(name, own)
    if (other) replaced.push({ what: `${kind} ${name}`, file: own.place.file, line: own.place.line })
  }
  const take = async (file: PolicyFile): Promise<void> => {
    const { shipped = false, inherited = false } = file
    const key = `${shipped} ${file.name}`
    if (loaded.has(key)) return
    loaded.add(key)
    const parsed = parse(file.text, file.name)
    errors.push(...parsed.errors)
    for (const rule of parsed.rules) {
      const { line, column } = rule
      keep(rules, 'the rule', rule.id, { value: rule, place: { file: file.name, line, column }, shipped, inherited })
    }
    for (const { rule, place } of parsed.breakers)
      keep(breakers, 'the circuit breaker', rule.scope, { value: rule, place, shipped, inherited })
    for (const { name, place } of parsed.templates) {
      const template = /^[A-Za-z0-9][A-Za-z0-9_-]*$/.test(name) ? await readTemplate(name, file) : null
      if (template) await take({ ...template, inherited })
      else errors.push({ ...place, message: `there is no template ${name}` })
    }
  }
  for (const file of files) await take(file)
  if (errors.length > 0) return { set: null, errors, replaced }
  const valuesOf = <T>(all: Map<string, Named<T>>): T[] => [...all.values()].map(({ value }) => value)
  return { set: compileSet(valuesOf(rules), valuesOf(breakers)), errors, replaced }
}

interface Named<T> {
  value: T
  place: Omit<RuleProblem, 'message'>
  shipped: boolean
  inherited: boolean
}

export const compileSet = (rules: readonly LoadedRule[], breakers: BreakerRule[]): PolicySet => ({
  rules: compileRules(rules),
  breakers,
  hash: policyHash(rules, breakers),
  keeps_sessions: asksForSession(rules),
})

/** The name of a rule file, without its path, which callers must not see. */
export const fileName = (path: string): string => path.split('/').at(-1) ?? path

// Rules generated from settings: they block categories and environments outside a closed list. Being rules, they are archived and replayed.

/** The allowed values; null allows any. */
export interface ClosedLists {
  categories: readonly string[] | null
  environments: readonly string[] | null
}

/** An absent field is not outside the list: rules on the field itself decide what absence means. */
const outside = (field: string, allowed: readonly string[]) => ({
  type: 'field',
  field,
  operator: 'not_in',
  value: allowed,
  when_missing: 'no_match',
})

/** Clients' calls of tools are checked as `tool_use`, which is the category of no decision: a list of categories is about decisions. */
const isNoToolCall = {
  type: 'compound',
  operator: 'or',
  conditions: [
    { type: 'field', field: 'category', operator: '!=', value: 'tool_use', when_missing: 'match' },
    { type: 'field', field: 'phase', operator: '!=', value: 'check' },
  ],
}

const ruleOf = (id: string, field: string, allowed: readonly string[]) => ({
  id,
  description: `The settings list the allowed values of ${field}`,
  action: 'block',
  conditions: [outside(field, allowed)],
  message: `${field} is none of those allowed here`,
  suggestion: `Use one of ${allowed.join(', ')}`.slice(0, 2_000),
})

/** A record must have a category of the list, so an action that will be recorded needs one too. */
const categoryRule = {
  id: 'no_category',
  description: 'The settings list the allowed categories, and a record has one of them',
  action: 'block',
  conditions: [
    { type: 'field', field: 'phase', operator: 'in', value: ['pre_action', 'record'] },
    { type: 'field', field: 'category', operator: 'exists', value: false },
  ],
  message: 'The action has no category',
  suggestion: 'Name one of the allowed categories',
}

export const openLists: ClosedLists = { categories: null, environments: null }

/** The file name of these rules. */
const file = 'settings'
const ids = { categories: 'unknown_category', environments: 'unknown_environment' } as const

/** The lists as a rule file that is read before all others; no file if both lists are open. */
export function closedLists({ categories, environments }: ClosedLists): PolicyFile[] {
  const rules = [
    ...(categories
      ? [
          {
            ...ruleOf(ids.categories, 'category', categories),
            conditions: [outside('category', categories), isNoToolCall],
          },
          categoryRule,
        ]
      : []),
    ...(environments ? [ruleOf(ids.environments, 'context.environment', environments)] : []),
  ]
  return rules.length > 0 ? [{ name: file, text: JSON.stringify(rules) }] : []
}

/** The closed lists among the rules of a set. */
export function listsIn(rules: readonly { rule: Pick<LoadedRule, 'id' | 'file' | 'conditions'> }[]): ClosedLists {
  const listOf = (id: string) => {
    const [condition] = rules.find(({ rule }) => rule.file === file && rule.id === id)?.rule.conditions ?? []
    return condition?.type === 'field' ? (condition.value as string[]) : null
  }
  return { categories: listOf(ids.categories), environments: listOf(ids.environments) }
}
