/** Whose word a rule rests on: the agent's for what it states of its action, that of the service and of the evidence for the rest. */
import type { Condition, Rule } from '../../../sdk/schema/guardrail.ts'
import { ActionParams } from '../../../sdk/schema/policy.ts'
import { actionField } from './action.ts'
import { isFact } from './facts.ts'

/** One name for a field however it is written; null if not only the agent vouches for it. */
function claimed(field: string): string | null {
  if (isFact(field)) return null
  // What a caller can't give the service fills in itself.
  if (actionField(field)) return Object.hasOwn(ActionParams.entries, field) ? field : null
  return field.startsWith('context.') ? field : `context.${field}`
}

/** What a condition looks at: a claim, or null for what the service knows. */
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
      return named.length > 0 ? named : ['context']
    }
    case 'temporal':
    case 'aggregate':
      return [null]
  }
}

const isText = (name: string | null): name is string => name !== null

/** The fields of a rule that only the agent vouches for, each once. */
export const claimsOf = ({ conditions, requirements }: Rule): string[] => [
  ...new Set([...conditions.flatMap(basesOf), ...requirements.map(claimed)].filter(isText)),
]

/**
 * The claims that alone satisfy a rule which stops an action; null if it rests on something else too. What the agent asks for (its
 * category, stakes …) is no claim about the world: a prohibition rests on claims only if it looks at the context.
 */
export function satisfiedByClaims({ action, conditions, requirements, requires }: Rule): string[] | null {
  if ((action !== 'block' && action !== 'defer') || requires.length > 0) return null
  const bases = requirements.length > 0 ? requirements.map(claimed) : conditions.flatMap(basesOf)
  const claims = bases.filter(isText)
  const rests = claims.length === bases.length && claims.some((name) => name.startsWith('context'))
  return rests ? [...new Set(claims)] : null
}
