/** Facts that rules may see beside the action: what happened before in its session, and what its kind of decision came to. */
import type { ActionField } from '../../../sdk/schema/action.ts'

/** Every fact by the name that a rule uses. */
export const facts = {} as const satisfies Record<string, ActionField>

export type FactName = keyof typeof facts

export const isFact = (name: string): name is FactName => Object.hasOwn(facts, name)
