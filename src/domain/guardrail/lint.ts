/** What is suspicious about rules that load: rules that can never fire, that another one covers, or that nobody can satisfy. */

import { nearest } from '../../../sdk/nearest.ts'
import type { Condition, Rule } from '../../../sdk/schema/guardrail.ts'
import { stableJson } from '../idempotency.ts'
import { actionFields, fieldKinds } from './action.ts'
import { scopesOf } from './evaluate.ts'
import { fieldName, isPossible, mustHold } from './lint/possible.ts'
import type { LoadedRule } from './parse.ts'

export interface LintFinding {
  rule: string
  file: string
  line: number
  kind: 'unknown_field' | 'never_fires' | 'shadowed' | 'contradiction' | 'no_message'
  message: string
}

type Found = [LintFinding['kind'], string]

const namesIn = (conditions: readonly Condition[]): string[] =>
  conditions.flatMap((one) =>
    one.type === 'field' ? [one.field] : one.type === 'compound' ? namesIn(one.conditions) : [],
  )

/** Bare names that look like a field of the action and are taken from the context. `context.` says that this is meant. */
function unknownFields({ conditions, requirements }: Rule): Found[] {
  return [...new Set([...namesIn(conditions), ...requirements])].flatMap((name): Found[] => {
    if (Object.hasOwn(fieldKinds, name) || name.includes('.')) return []
    const near = nearest(name, actionFields)
    const message = `${name} is looked up in the context; did you mean ${near}? If not, write context.${name}`
    return near ? [['unknown_field', message]] : []
  })
}

const isTrue = (rule: Rule, field: string): boolean =>
  (mustHold(rule).get(fieldName(field)) ?? []).some(
    ({ operator, value }) => (operator === '=' || operator === '==') && value === true,
  )

function neverFires(rule: Rule): Found[] {
  const found = [...mustHold(rule)]
    .filter(([field, conditions]) => !isPossible(field, conditions))
    .map(([field]): Found => ['never_fires', `no value of ${field} meets all of its conditions`])
  if (rule.requirements.length > 0 && rule.requirements.every((field) => isTrue(rule, field)))
    found.push(['never_fires', 'it applies only where all that it requires is true already'])
  return found
}

const overlap = (a: Rule, b: Rule): boolean =>
  scopesOf(a).length === 0 || scopesOf(b).length === 0 || scopesOf(a).some((one) => scopesOf(b).includes(one))

/** Requirements that can't be met at all, or only by breaking another rule. */
function contradictions(rule: Rule, all: readonly Rule[]): Found[] {
  return rule.requirements.flatMap((field): Found[] => {
    if (Object.hasOwn(fieldKinds, field) && fieldKinds[field as keyof typeof fieldKinds] !== 'boolean')
      return [['contradiction', `${field} is never exactly true, so the requirement can't be met`]]
    const own = mustHold(rule).get(fieldName(field)) ?? []
    if (own.length > 0 && !isPossible(fieldName(field), [...own, isTrueCondition(field)]))
      return [['contradiction', `it applies only where ${field} is not true, and requires it to be true`]]
    const forbids = all.find(
      (other) =>
        other !== rule &&
        other.action === 'block' &&
        other.requirements.length === 0 &&
        other.conditions.length === 1 &&
        isTrue(other, field) &&
        overlap(rule, other),
    )
    return forbids ? [['contradiction', `it requires ${field}, which ${forbids.id} blocks`]] : []
  })
}

const isTrueCondition = (field: string) =>
  ({ type: 'field', field, operator: '=', value: true, when_missing: 'no_match' }) as const

/** True when whatever fires `b` fires `a` too: a's conditions are among b's, its scope is no narrower, and it is at least as strict. */
function covers(a: Rule, b: Rule): boolean {
  const conditions = new Set(b.conditions.map(stableJson))
  const wider =
    scopesOf(a).length === 0 || (scopesOf(b).length > 0 && scopesOf(b).every((one) => scopesOf(a).includes(one)))
  const strict = { block: 2, warn: 1, log: 0 }
  const requires =
    a.requirements.length === 0 ||
    (b.requirements.length > 0 && b.requirements.every((one) => a.requirements.includes(one)))
  return (
    wider &&
    requires &&
    strict[a.action] >= strict[b.action] &&
    a.conditions.every((one) => conditions.has(stableJson(one)))
  )
}

function shadows(rule: Rule, index: number, all: readonly Rule[]): Found[] {
  const cover = all.find((other, at) => other !== rule && covers(other, rule) && (!covers(rule, other) || at < index))
  return cover ? [['shadowed', `whatever it catches, ${cover.id} catches too`]] : []
}

/** Findings over a set of rules, in the order of the rules. */
export function lintRules(rules: readonly LoadedRule[]): LintFinding[] {
  return rules.flatMap((rule, index) => {
    const found: Found[] = [
      ...neverFires(rule),
      ...unknownFields(rule),
      ...contradictions(rule, rules),
      ...shadows(rule, index, rules),
    ]
    if (rule.action === 'block' && rule.message === undefined)
      found.push(['no_message', 'a blocked agent is not told why: add a message'])
    const { id, file, line } = rule
    return found.map(([kind, message]) => ({ rule: id, file, line, kind, message }))
  })
}
