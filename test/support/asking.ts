/** A rule that asks a person, and requests for approval that it made. */
import type { As, TestProgram } from './program.ts'

export const askingRules = `
- id: pay
  action: step_up
  message: Payments need a person
  condition_category: payment
`

/** The id of the approval that paying this amount needs. */
export async function requested(program: TestProgram, amount: number, agent?: As): Promise<string> {
  const action = { description: `Pay ${amount}`, category: 'payment', context: { amount } }
  const { approval } = await program.call('checkGuardrails', { action }, agent)
  return approval!.id
}
