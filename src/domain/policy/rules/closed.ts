/** Rules generated from settings: they block categories and environments outside a closed list. Being rules, they are archived and replayed. */
import type { LoadedRule } from './parse.ts'
import type { PolicyFile } from './set.ts'

/** The allowed values; null allows any. */
export interface ClosedLists {
  categories: readonly string[] | null
  environments: readonly string[] | null
}

/** An absent field is not outside the list: rules on the field itself decide what absence means. */
const ruleOf = (id: string, field: string, allowed: readonly string[]) => ({
  id,
  description: `The settings list the allowed values of ${field}`,
  action: 'block',
  conditions: [{ type: 'field', field, operator: 'not_in', value: allowed, when_missing: 'no_match' }],
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
    ...(categories ? [ruleOf(ids.categories, 'category', categories), categoryRule] : []),
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
