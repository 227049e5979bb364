/** Rules written as YAML, evaluated without a store: what the tests of guardrails share. */
import type { Action } from '../../../../src/domain/policy/rules/action.ts'
import { evaluate, type Verdict } from '../../../../src/domain/policy/rules/evaluate.ts'
import type { History } from '../../../../src/domain/policy/rules/history.ts'
import { buildPolicy, type PolicySet } from '../../../../src/domain/policy/rules/set.ts'
import { testStart } from '../../../support/record.ts'

export const actionOf = (given: Partial<Action> = {}): Action => ({
  description: 'Do it',
  category: null,
  stakes: 'medium',
  confidence: null,
  tags: [],
  project: null,
  pr: null,
  scope: null,
  agent_id: 'alice',
  phase: 'check',
  reason_count: null,
  quality_score: null,
  instruction_like: false,
  secret_masked: false,
  has_deliberation: false,
  has_reasoning: false,
  has_query: false,
  has_check: false,
  context: {},
  ...given,
})

/** An empty past. */
export const past = (given: Partial<History> = {}): History => ({
  now: () => testStart,
  ofChanged: () => past(given),
  count: async () => 0,
  similar: async () => 0,
  evidence: async ({ evidence }) => ({ missing: `no ${evidence} was observed` }),
  aggregate: async () => ({ decisions: 0, value: null }),
  fact: async () => null,
  ...given,
})

/** @throws with all that is wrong */
export async function policyOf(text: string): Promise<PolicySet> {
  const { set, errors } = await buildPolicy([{ name: 'test.yaml', text }], async () => null)
  if (!set) throw new Error(errors.map(({ line, column, message }) => `${line}:${column} ${message}`).join('\n'))
  return set
}

/** The verdict of rules on an action; anything that JSON holds is YAML too. */
export async function verdictOf(
  rules: string | object,
  action: Partial<Action> = {},
  history: Partial<History> = {},
): Promise<Verdict> {
  const { rules: compiled } = await policyOf(typeof rules === 'string' ? rules : JSON.stringify(rules))
  return evaluate(compiled, actionOf(action), past(history), () => {})
}

/** A block rule of one condition: `y` it holds, `n` it does not, `!` it can't be evaluated and so counts as violated. */
export async function outcome(
  condition: object,
  action: Partial<Action> = {},
  history: Partial<History> = {},
): Promise<'y' | 'n' | '!'> {
  const { allowed, violations } = await verdictOf([{ id: 'r', message: 'm', conditions: [condition] }], action, history)
  return allowed ? 'n' : violations[0]!.error === null ? 'y' : '!'
}
