/** What is deferred does not wait for ever, and a session that is full is not taken for one in which nothing happened. */
import { expect, test } from 'bun:test'
import { forEachBackend, type TestProgram } from '../../../support/program.ts'

const hour_ms = 3_600_000
const rules = `
guardrails:
  - { id: unknown, action: defer, defer: { reason: Not known yet, expires: 2h }, condition_context.tool: rotate, condition_confidence: "< 0.5" }
  - { id: after, action: block, message: Not after that, condition_context.tool: send, condition_session.actions: contains secret }
`
const check = async (program: TestProgram, tool: string, more: object = {}, params: object = {}) => {
  const action = { description: `Use ${tool}`, category: 'tool_use', confidence: 0.4, context: { tool }, ...more }
  return program.call('checkGuardrails', { action, ...params })
}
const verdict = async (...given: Parameters<typeof check>) => (await check(...given)).verdict

forEachBackend((open) => {
  test('a deferred action is denied after the time of its rule, and asked about again a day later', async () => {
    const program = await open()
    await program.rules(rules)
    expect(await verdict(program, 'rotate')).toBe('defer')
    program.clock.now += 2 * hour_ms - 1
    expect(await verdict(program, 'rotate')).toBe('defer')
    program.clock.now += 1
    // Another action has a time of its own.
    expect(await verdict(program, 'rotate', { confidence: 0.3 })).toBe('defer')
    expect(await check(program, 'rotate')).toMatchObject({
      allowed: false,
      verdict: 'deny',
      violations: [{ guardrail_id: 'unknown', message: expect.stringContaining('not resolved by 2026-07-01T14:00') }],
    })
    const other = await program.second()
    await other.rules(rules)
    expect(await verdict(other, 'rotate')).toBe('deny')
    expect(await verdict(program, 'rotate', { confidence: 0.6 })).toBe('allow')
    program.clock.now += 24 * hour_ms + 1
    expect(await verdict(program, 'rotate')).toBe('defer')
  })

  test('a dry run begins no time', async () => {
    const program = await open()
    await program.rules(rules)
    expect(await verdict(program, 'rotate', {}, { dry_run: true })).toBe('defer')
    program.clock.now += 2 * hour_ms
    expect(await verdict(program, 'rotate')).toBe('defer')
  })

  test('100 other actions first do not hide the one that a rule asks for', async () => {
    const program = await open()
    await program.rules(rules)
    for (let at = 0; at < 100; at++) await check(program, `other${at}`)
    await check(program, 'secret')
    expect(await check(program, 'send')).toMatchObject({
      verdict: 'deny',
      violations: [{ error: 'more happened in the session than is kept of it' }],
    })
  })
})
