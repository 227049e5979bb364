/** The sources that a rule depends on: the agent for what it claims about its action, the service and the evidence for the rest. */
import type { Condition, Rule } from '../../../../sdk/schema/guardrail.ts'
import { ActionParams } from '../../../../sdk/schema/policy.ts'
import { actionField } from './action.ts'
import { isFact } from './fact-names.ts'

/** The canonical name of a field that only the agent vouches for; null for any other field. */
function claimed(field: string): string | null {
  if (isFact(field)) return null
  // The service fills in the fields that a caller can't give.
  if (actionField(field)) return Object.hasOwn(ActionParams.entries, field) ? field : null
  return field.startsWith('context.') ? field : `context.${field}`
}

/** The sources of a condition: the name of a claimed field, or null for what the service knows. */
function basesOf(condition: Condition): (string | null)[] {
  switch (condition.type) {
    case 'field':
      return [claimed(condition.field)]
    case 'compound':
      return condition.conditions.flatMap(basesOf)
    case 'semantic':
      return ['description', null]
    case 'cel': {
      const named = [...condition.expression.matchAll(/\baction\.([A-Za-z_][\w.]*)/g)].map(([, name]) => claimed(name!))
      if (/(?<![\w.])(?:command|edit)\b/.test(condition.expression)) named.push('context.command')
      return named.length > 0 ? named : ['context']
    }
    case 'command':
      return ['context.command']
    case 'temporal':
    case 'aggregate':
      return [null]
  }
}

const isText = (name: string | null): name is string => name !== null

/** The fields of a rule that only the agent vouches for, without duplicates. */
export const claimsOf = ({ conditions, requirements }: Rule): string[] => [
  ...new Set([...conditions.flatMap(basesOf), ...requirements.map(claimed)].filter(isText)),
]

/**
 * The claims that suffice to satisfy a rule that stops actions; null if the rule depends on other sources too. What the agent asks for
 * (its category, stakes …) is not a claim about the world: a prohibition depends on claims only if it reads the context.
 */
export function satisfiedByClaims({ action, conditions, requirements, requires }: Rule): string[] | null {
  if ((action !== 'block' && action !== 'defer') || requires.length > 0) return null
  const bases = requirements.length > 0 ? requirements.map(claimed) : conditions.flatMap(basesOf)
  const claims = bases.filter(isText)
  const rests = claims.length === bases.length && claims.some((name) => name.startsWith('context'))
  return rests ? [...new Set(claims)] : null
}
