/** Ways around a rule that were found once: other letters, two values of one name, what is left out. */
import { expect, test } from 'bun:test'
import { openMemoryProgram, type TestProgram } from '../support/program.ts'

async function withRules(rules: string, work: (program: TestProgram) => Promise<void>): Promise<void> {
  const program = await openMemoryProgram()
  try {
    await program.rules(rules)
    await work(program)
  } finally {
    await program.close()
  }
}
const verdict = async (program: TestProgram, action: object) =>
  (await program.call('checkGuardrails', { action: { description: 'Pay', ...action } })).verdict

test('a category is the same in capitals, wide and look-alike letters, but not for a rule that says exact', () =>
  withRules(
    `[{ id: r, message: m, condition_category: payment }, { id: s, message: m, conditions: [{ type: field, field: category, operator: "=", value: refund, exact: true }] }]`,
    async (program) => {
      for (const category of ['payment', 'Payment', 'PAYMENT', 'ｐayment', 'p\u0430yment', 'pay\u200bment'])
        expect([category, await verdict(program, { category })]).toEqual([category, 'deny'])
      expect(await verdict(program, { category: 'refund' })).toBe('deny')
      expect(await verdict(program, { category: 'Refund' })).toBe('allow')
      expect(await verdict(program, { category: 'payments' })).toBe('allow')
    },
  ))

test('a value that is given twice, nested and with a dot, fails closed', () =>
  withRules('[{ id: r, message: m, condition_context.payment.amount: "> 5000" }]', async (program) => {
    expect(await verdict(program, { context: { payment: { amount: 9_000 }, 'payment.amount': 1 } })).toBe('deny')
    expect(await verdict(program, { context: { payment: { amount: 1 }, 'payment.amount': 1 } })).toBe('deny')
    expect(await verdict(program, { context: { payment: { amount: 1 } } })).toBe('allow')
  }))

test('what is left out is no way around a rule that blocks', () =>
  withRules('[{ id: r, message: m, condition_context.environment: production }]', async (program) => {
    expect(await verdict(program, {})).toBe('deny')
    expect(await verdict(program, { context: { environment: 'staging' } })).toBe('allow')
  }))
