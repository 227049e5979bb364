/** Finds suspicious rules among those that load: rules that never fire, that another rule covers, or that can't be satisfied. */
import { nearest } from '../../../../sdk/nearest.ts'
import { actionFields } from '../../../../sdk/schema/action.ts'
import { operators } from '../../../../sdk/schema/condition.ts'
import type { Condition, Rule } from '../../../../sdk/schema/guardrail.ts'
import { stableJson } from '../../../core/canonical.ts'
import { actionField } from './action.ts'
import { unknownPrograms } from './command.ts'
import { scopesOf } from './compiled.ts'
import { factNames, isFact } from './fact-names.ts'
import type { LoadedRule } from './parse.ts'
import { fieldName, isPossible, mustHold } from './possible.ts'
import { claimsOf, satisfiedByClaims } from './trust.ts'

export interface LintFinding {
  rule: string
  file: string
  line: number
  kind:
    | 'assumed_match'
    | 'unknown_field'
    | 'unknown_operator'
    | 'never_fires'
    | 'hardly_fires'
    | 'shadowed'
    | 'contradiction'
    | 'no_message'
    | 'claims_only'
  message: string
}

type Found = [LintFinding['kind'], string]

const namesIn = (conditions: readonly Condition[]): string[] =>
  conditions.flatMap((one) =>
    one.type === 'field' ? [one.field] : one.type === 'compound' ? namesIn(one.conditions) : [],
  )

/** Names with two letters are left out, as they are near to most others. */
const longNames = Object.keys(actionFields).filter(({ length }) => length > 2)

/** What a name with a dot was probably meant to be: a context field, whatever follows the dot, or a fact. */
function meantByPath(name: string): string | null {
  const [group = '', ...rest] = name.split('.')
  if (group === 'context') return null
  return nearest(group, ['context']) ? ['context', ...rest].join('.') : nearest(name, factNames)
}

/** Bare names that look like a field of the action but are looked up in the context. The prefix `context.` says that this is intended. */
function unknownFields({ conditions, requirements }: Rule): Found[] {
  return [...new Set([...namesIn(conditions), ...requirements])].flatMap((name): Found[] => {
    if (actionField(name) || isFact(name)) return []
    const near = name.includes('.') ? meantByPath(name) : nearest(name, longNames)
    const message = `${name} is looked up in the context; did you mean ${near}? If not, write context.${name}`
    return near ? [['unknown_field', message]] : []
  })
}

/** Words that are operators in other languages. Before a value, they were hardly meant as part of a text. */
const foreign = /^(?:not[ -]in|nin|notin|contain|includes?|matches|regex|like|[gl]te?|eq|neq?|equals|exist)(?=\s+\S|$)/i

/** Texts that begin with a foreign operator, but are compared literally. */
function unknownOperators(rule: Rule): Found[] {
  return [...mustHold(rule)].flatMap(([field, conditions]) =>
    conditions.flatMap(({ operator, value }): Found[] => {
      const [word] = (operator === '=' && typeof value === 'string' && foreign.exec(value)) || []
      const message = `${field} is compared with the text ${JSON.stringify(value)}; ${word} is no operator`
      return word ? [['unknown_operator', `${message} (known are ${operators.join(', ')})`]] : []
    }),
  )
}

const isTrue = (rule: Rule, field: string): boolean =>
  (mustHold(rule).get(fieldName(field)) ?? []).some(
    ({ operator, value }) => (operator === '=' || operator === '==') && value === true,
  )

function neverFires(rule: Rule): Found[] {
  const found = [...mustHold(rule)]
    .filter(([field, conditions]) => !isPossible(field, conditions))
    .map(([field]): Found => ['never_fires', `no value of ${field} meets all of its conditions`])
  if (rule.requirements.length > 0 && asksOf(rule).every((field) => isTrue(rule, field)))
    found.push(['never_fires', 'it applies only if everything it requires is already true'])
  return found
}

/** Thresholds from here on find hardly any past decision in other words: see the table in docs/guide/guardrails.md. */
const highThreshold = 0.7

const thresholdsIn = (conditions: readonly Condition[]): number[] =>
  conditions.flatMap((one) =>
    one.type === 'compound'
      ? thresholdsIn(one.conditions)
      : one.type === 'semantic' && one.threshold !== 'auto'
        ? [one.threshold]
        : [],
  )

const hardlyFires = ({ conditions }: Rule): Found[] =>
  thresholdsIn(conditions)
    .filter((threshold) => threshold >= highThreshold)
    .map((threshold) => [
      'hardly_fires',
      `with the embedder that comes with cstp hardly any decision that says the same in other words is ${threshold} similar; write threshold: auto`,
    ])

const overlap = (a: Rule, b: Rule): boolean =>
  scopesOf(a).length === 0 || scopesOf(b).length === 0 || scopesOf(a).some((one) => scopesOf(b).includes(one))

/** Requirements that can't be met at all, or only by breaking another rule. */
function contradictions(rule: Rule, all: readonly Rule[]): Found[] {
  return rule.requirements.flatMap((field): Found[] => {
    if ((actionField(field)?.kind ?? 'boolean') !== 'boolean')
      return [['contradiction', `${field} is never exactly true, so the requirement can't be met`]]
    const own = mustHold(rule).get(fieldName(field)) ?? []
    if (own.length > 0 && !isPossible(fieldName(field), [...own, isTrueCondition(field)]))
      return [['contradiction', `it applies only if ${field} is not true, and requires it to be true`]]
    const forbids = all.find(
      (other) =>
        other !== rule &&
        other.action === 'block' &&
        asksOf(other).length === 0 &&
        other.conditions.length === 1 &&
        isTrue(other, field) &&
        overlap(rule, other),
    )
    return forbids ? [['contradiction', `it requires ${field}, which ${forbids.id} blocks`]] : []
  })
}

const isTrueCondition = (field: string) =>
  ({ type: 'field', field, operator: '=', value: true, when_missing: 'no_match' }) as const

/** Everything that a rule requires, as text. */
const asksOf = ({ requirements, requires }: Rule): string[] => [...requirements, ...requires.map(stableJson)]

/** True when every action that fires `b` fires `a` too: a's conditions are among b's, its scope is no narrower, and it is at least as strict. */
function covers(a: Rule, b: Rule): boolean {
  const conditions = new Set(b.conditions.map(stableJson))
  const wider =
    scopesOf(a).length === 0 || (scopesOf(b).length > 0 && scopesOf(b).every((one) => scopesOf(a).includes(one)))
  const strict = { block: 5, defer: 4, step_up: 3, modify: 2, warn: 1, log: 0 }
  const [ofA, ofB] = [asksOf(a), asksOf(b)]
  const requires = ofA.length === 0 || (ofB.length > 0 && ofB.every((one) => ofA.includes(one)))
  return (
    wider &&
    requires &&
    strict[a.action] >= strict[b.action] &&
    a.conditions.every((one) => conditions.has(stableJson(one)))
  )
}

function shadows(rule: Rule, index: number, all: readonly Rule[]): Found[] {
  const cover = all.find((other, at) => other !== rule && covers(other, rule) && (!covers(rule, other) || at < index))
  return cover ? [['shadowed', `${cover.id} catches everything that it catches`]] : []
}

const claimsOnly = (claims: readonly string[]): string =>
  `its file has trust: evidence, and only the agent vouches for what satisfies it (${claims.join(', ')}); ask for evidence or an approval with requires`
/** Fields that hooks set only for some tools: calls of other tools never have them. */
const ofSomeTools: readonly string[] = ['context.command', 'context.file_path']

function absence(rule: LoadedRule): string {
  const fields = [...new Set(rule.assumed_match)]
  const some = fields.filter((field) => ofSomeTools.includes(fieldName(field)))
  const others = ['context.tool', 'context.mcp_server'].some((field) => mustHold(rule).has(field))
    ? ''
    : some.map((field) => `; hooks: to every call of a tool that has no ${field.replace('context.', '')} too`).join('')
  return `it applies to actions without ${fields.join(', ')}, as it blocks${others}; write when_missing: match if this is intended, else no_match`
}

/** Rules that stop every call through the gateway before it is made, since it has no result yet; rules without an exception for that. */
function stopsCalls(rule: LoadedRule): Found[] {
  if (rule.action === 'warn' || rule.action === 'log') return []
  return [...mustHold(rule)]
    .filter(
      ([field, all]) => /^context\.result(?:\.|$)/.test(field) && all.every((one) => one.when_missing === 'match'),
    )
    .map(([field]) => [
      'assumed_match',
      `it stops every call before it is made, which has no ${field} yet; write when_missing: no_match, and the result is withheld instead`,
    ])
}

/** Findings on a set of rules, in the order of the rules. */
export function lintRules(rules: readonly LoadedRule[]): LintFinding[] {
  return rules.flatMap((rule, index) => {
    const found: Found[] = [
      ...neverFires(rule),
      ...unknownPrograms(rule.conditions).map((message): Found => ['never_fires', message]),
      ...hardlyFires(rule),
      ...unknownFields(rule),
      ...unknownOperators(rule),
      ...contradictions(rule, rules),
      ...shadows(rule, index, rules),
    ]
    if (rule.action === 'block' && rule.message === undefined)
      found.push(['no_message', 'a blocked agent does not learn why: add a message'])
    const claims = rule.trust === 'evidence' ? satisfiedByClaims(rule) : null
    if (claims !== null) found.push(['claims_only', claimsOnly(claims)])
    const stopped = stopsCalls(rule)
    if (stopped.length > 0) found.push(...stopped)
    else if (rule.assumed_match.length > 0) found.push(['assumed_match', absence(rule)])
    const { id, file, line } = rule
    return found.map(([kind, message]) => ({ rule: id, file, line, kind, message }))
  })
}

/** The fields of a rule that only the agent vouches for. */
export interface Claims {
  rule: string
  file: string
  line: number
  fields: string[]
}

export const claimsIn = (rules: readonly LoadedRule[]): Claims[] =>
  rules.flatMap((rule) => {
    const fields = claimsOf(rule)
    return fields.length === 0 ? [] : [{ rule: rule.id, file: rule.file, line: rule.line, fields }]
  })
