/** Judges commands with shipped packs, as a hook of an agent's client would report them. */
import { actionFields } from '../../../../sdk/schema/action.ts'
import type { Action } from '../../../../src/domain/policy/rules/action.ts'
import { evaluate, type Verdict } from '../../../../src/domain/policy/rules/evaluate.ts'
import type { History } from '../../../../src/domain/policy/rules/history.ts'
import type { RulePack } from '../../../../src/domain/policy/rules/packs.ts'
import { readPolicy } from '../../../../src/policy/files.ts'

export const project = '/home/ana/app'

/** No rule of a pack asks for the past. */
const noPast: History = new Proxy({} as History, {
  get(_, name) {
    if (name === 'ofChanged') return () => noPast
    throw new Error('a rule of a pack asks for the past')
  },
})

const none = Object.fromEntries(Object.keys(actionFields).map((name) => [name, null]))

/** An action with this context. */
export const actionWith = (context: Action['context']): Action =>
  ({ ...none, description: 'x', category: 'tool_use', tags: [], agent_id: 'a', phase: 'check', context }) as never

/** Judges with the rules of some packs alone. @throws if a rule fails for another reason than the action */
export async function judgeWith(packs: readonly RulePack[]) {
  const { set, errors } = await readPolicy([], { categories: null, environments: null, packs })
  if (set === null) throw new Error(JSON.stringify(errors))
  const judge = (context: Action['context']): Promise<Verdict> =>
    evaluate(set.rules, actionWith(context), noPast, (rule, error) => {
      throw new Error(`${rule}: ${error}`)
    })
  return { set, judge, command: (command: string, cwd = project) => judge({ tool: 'Bash', command, cwd }) }
}
