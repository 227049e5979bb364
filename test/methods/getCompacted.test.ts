/** cstp.getCompacted: each decision at the level of its age, and what restricts the list, on every store. */
import { expect, test } from 'bun:test'
import { forEachBackend, type TestProgram } from '../support/program.ts'

const dayMs = 86_400_000

forEachBackend((open) => {
  const levelOf = async ({ call }: TestProgram, id: string) =>
    (await call('getCompacted', { limit: 500 })).decisions.find((one) => one.id === id)?.level

  test('a reviewed decision is shown shorter as it ages; a pending one never is', async () => {
    const program = await open()
    const [id, pending] = [await program.record(), await program.record()]
    await program.call('reviewDecision', { id, outcome: 'success' })
    const start = program.clock.now
    for (const [days, level] of [
      [6.99, 'full'],
      [7, 'summary'],
      [29.99, 'summary'],
      [30, 'digest'],
      [89.99, 'digest'],
      [90, 'wisdom'],
      [1_000, 'wisdom'],
    ] as const) {
      program.clock.now = start + days * dayMs
      expect([days, await levelOf(program, id), await levelOf(program, pending)]).toEqual([days, level, 'full'])
      const { levels } = await program.call('getCompacted', { level })
      expect(levels[level]).toBe(level === 'full' ? 2 : 1)
    }
  })
})
