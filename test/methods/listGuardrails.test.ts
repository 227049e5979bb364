/** cstp.listGuardrails: the rules in force, by scope, and what is wrong with their files. */
import { expect, test } from 'bun:test'
import { forEachBackend } from '../support/program.ts'

const rules = `
guardrails:
  - id: confidence
    message: too unsure
    conditions:
      - { type: field, field: stakes, operator: in, value: [high, critical] }
      - { type: field, field: confidence, operator: "<", value: 0.5, when_missing: match }
  - { id: amount, action: warn, condition_context.amount: "> 5000" }
  - { id: noted, action: log, condition_category: payment }
  - { id: scoped, scope: [acme/app, trading], condition_context.x: 1 }
`

forEachBackend((open) => {
  test('shows each rule as it is in force, by scope', async () => {
    const program = await open()
    await program.rules(rules)
    const all = await program.call('listGuardrails')
    expect(all.total).toBe(4)
    expect(all.guardrails[3]).toEqual({
      id: 'scoped',
      name: null,
      description: 'x is 1',
      action: 'block',
      mode: 'enforce',
      scope: 'acme/app,trading',
      scopes: ['acme/app', 'trading'],
      conditions: 1,
      requirements: 0,
      file: 'test.yaml',
    })
    expect(all.guardrails[0]).toMatchObject({ scope: null, scopes: [], conditions: 2 })
    expect((await program.call('listGuardrails', { scope: 'trading' })).total).toBe(4)
    expect((await program.call('listGuardrails', { scope: 'other' })).total).toBe(3)
    expect(all.errors).toEqual([])
  })

  test('shows what is wrong with the files, without their folder', async () => {
    const { call, services } = await open()
    services.policy.errors = () => [{ file: '/etc/cstp/rules/bad.yaml', line: 2, column: 1, message: 'unknown field' }]
    expect((await call('listGuardrails')).errors).toMatchObject([{ file: 'bad.yaml', line: 2 }])
  })
})
