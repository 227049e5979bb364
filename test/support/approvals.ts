/** Requests for approval, as an evaluation makes them. */
import { type Asking, type AskingRule, type Settled, settle } from '../../src/domain/policy/approval/requests.ts'
import { toAction } from '../../src/domain/policy/judge/request.ts'
import type { TestProgram } from './program.ts'

export const hour = 3_600_000

export const rule: AskingRule = {
  guardrail_id: 'ask-first',
  name: 'Ask first',
  message: 'A person must agree',
  text: '{"id":"ask-first"}',
  approvers: [],
  separation: true,
  waits_ms: hour,
  remember_ms: null,
}

let evaluations = 0

/** What agent alice asks for. */
export const asking = (
  { services }: TestProgram,
  context: Record<string, unknown> = { amount: 1 },
  given: Partial<Asking> = {},
): Asking => ({
  approvalContext: services.approvalContext,
  agent: 'alice',
  on_behalf_of: null,
  session: null,
  evaluation_id: `e${++evaluations}`,
  request_id: 'r1',
  policy_hash: 'p1',
  action: toAction(
    'alice',
    {
      description: 'Pay',
      category: 'payment',
      stakes: 'high',
      confidence: 0.9,
      tags: [],
      project: null,
      pr: null,
      scope: null,
      context,
    },
    'check',
  ),
  changes: [],
  rules: [rule],
  ...given,
})

/** Settles it in a transaction of its own. */
export const ask = (
  program: TestProgram,
  request = asking(program),
  how: 'use' | 'ask' | 'look' = 'use',
): Promise<Settled> => program.store.transaction((tx) => settle(tx, request, how))
