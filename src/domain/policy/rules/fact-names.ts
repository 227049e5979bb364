/** Facts about the past of an action, which rules may use like its own fields: their names, and which ones a rule set uses. */
import { type ActionField, type FactName, factFields } from '../../../../sdk/schema/action.ts'
import type { Condition } from '../../../../sdk/schema/guardrail.ts'

export type { FactName }

/** Groups of facts that are looked up together, by the part of their names before the dot. */
export const factGroups = ['session', 'precedents', 'calibration'] as const
export type FactGroup = (typeof factGroups)[number]
/** The facts of a group, by the part of their names after the dot; null if there is none. */
export type Facts = Readonly<Record<string, unknown>>

export const isFact = (name: string): name is FactName => Object.hasOwn(factFields, name)

/** The definition of a fact; undefined for any other name. */
export const factField = (name: string): ActionField | undefined => (isFact(name) ? factFields[name] : undefined)

export const factNames = Object.keys(factFields) as FactName[]
const splitAt = (name: string): number => name.indexOf('.')
export const groupOf = (name: FactName): FactGroup => name.slice(0, splitAt(name)) as FactGroup
export const keyOf = (name: FactName): string => name.slice(splitAt(name) + 1)

/** The facts of these groups, as an expression sees them. */
export async function allFacts(
  groups: readonly FactGroup[],
  lookUp: (name: FactName) => Promise<unknown>,
): Promise<Partial<Record<FactGroup, Facts>>> {
  const found = await Promise.all(
    groups.map(async (group) => {
      const names = factNames.filter((name) => groupOf(name) === group)
      const values = await Promise.all(names.map(async (name) => [keyOf(name), (await lookUp(name)) ?? null] as const))
      return [group, Object.fromEntries(values)] as const
    }),
  )
  return Object.fromEntries(found)
}

/** The groups that a CEL expression names. */
export const groupsIn = (expression: string): FactGroup[] =>
  factGroups.filter((group) =>
    new RegExp(`\\baction\\s*(?:\\.\\s*${group}\\b|\\[\\s*["']${group}["'])`).test(expression),
  )

function groupsOf(condition: Condition): FactGroup[] {
  switch (condition.type) {
    case 'field':
      return isFact(condition.field) ? [groupOf(condition.field)] : []
    case 'cel':
      return groupsIn(condition.expression)
    case 'compound':
      return condition.conditions.flatMap(groupsOf)
    case 'semantic':
    case 'temporal':
    case 'aggregate':
    case 'command':
      return []
  }
}

/** Ids of the rules that read the task of the session, which no hook tells where prompts are kept as digests. */
export const readersOfRequest = (rules: readonly { id: string; conditions: readonly Condition[] }[]): string[] =>
  rules.flatMap(({ id, conditions }) => (/\bsession\W{1,8}request\b/.test(JSON.stringify(conditions)) ? [id] : []))

/** Whether some rule uses facts about the session. */
export const asksForSession = (rules: readonly { conditions: readonly Condition[] }[]): boolean =>
  rules.some(({ conditions }) => conditions.flatMap(groupsOf).includes('session'))
