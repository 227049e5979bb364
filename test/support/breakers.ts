/** A breaker on deployments for tests, and what opens it. */
import type { Outcome } from '../../sdk/schema/decision.ts'
import type { As, TestProgram } from './program.ts'

export const hourMs = 3_600_000
export const rules = `
guardrails: [{ id: never, message: m, condition_category: never }]
circuit_breakers:
  - { scope: "category:deploy", failure_threshold: 2, window_ms: ${24 * hourMs}, cooldown_ms: ${hourMs} }
`
export const deploy = { category: 'deploy', confidence: 0.9 }
export const scope = 'category:deploy'

/** A review by another agent than the recorder. */
export const review = (program: TestProgram, decision_id: string, outcome: Outcome, as: As = 'bob') =>
  program.call('reviewDecision', { decision_id, outcome }, as)
export const state = (program: TestProgram) => program.call('getCircuitState', { scope })
export const check = (program: TestProgram, action: object = {}) =>
  program.call('checkGuardrails', { action: { description: 'Deploy', ...deploy, ...action } })

/** Records and reviews as failed what opens the breaker. */
export async function fail(program: TestProgram, times = 2): Promise<void> {
  for (let at = 0; at < times; at++) await review(program, await program.record(deploy), 'failure')
}
