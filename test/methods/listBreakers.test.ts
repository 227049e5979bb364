/** cstp.listBreakers: every declared breaker with its state, on every store. */
import { expect, test } from 'bun:test'
import { fail } from '../support/breakers.ts'
import { forEachBackend } from '../support/program.ts'

forEachBackend((open) => {
  test('shows all that are declared', async () => {
    const program = await open()
    await program.rules(`
circuit_breakers:
  - { scope: global, failure_threshold: 1, window_ms: 1000, cooldown_ms: 1000 }
  - { scope: "agent:alice", failure_threshold: 1, window_ms: 1000, cooldown_ms: 1000 }
  - { scope: "agent:bob", failure_threshold: 1, window_ms: 1000, cooldown_ms: 1000 }
`)
    await fail(program, 1)
    const { breakers, total } = await program.call('listBreakers')
    expect(total).toBe(3)
    expect(breakers.map((one) => [one.scope, one.state])).toEqual([
      ['agent:alice', 'open'],
      ['agent:bob', 'closed'],
      ['global', 'open'],
    ])
  })
})
