/** Examining the thread: what nobody tampered with is whole, on every store, whatever was erased or ran out. */
import { expect, test } from 'bun:test'
import { actKinds } from '../../../../sdk/storage/thread.ts'
import { examineThread } from '../../../../src/domain/ledger/thread/examine/examine.ts'
import { threadedStory } from '../../../support/evidence/threaded-story.ts'
import { forEachBackend, type TestProgram } from '../../../support/program.ts'

async function flaws({ services: { store, evidence }, clock }: TestProgram): Promise<string[]> {
  const found = await Array.fromAsync(
    examineThread({ ...store, evidence }, { yieldToEventLoop: async () => {}, now: clock.now + 3_600_000 }),
  )
  return found.map(({ what }) => what)
}

forEachBackend((open) => {
  test('acts of every kind, what was erased, what ran out and what waits for its place leave no flaw', async () => {
    const program = await open()
    const { store, clock, services } = program
    await threadedStory(program)
    expect(await flaws(program)).toEqual([])
    const { seq } = await store.thread.head()
    const kinds = new Set((await store.thread.read({ from: 1, limit: seq })).map(({ kind }) => kind))
    expect([...actKinds].filter((kind) => !kinds.has(kind))).toEqual([])
    clock.now += 40 * 86_400_000
    const before_ms = clock.now - 30 * 86_400_000
    expect(await store.transaction((tx) => tx.erase({ expired: { before_ms, keep: [], limit: 999 } }))).toBeGreaterThan(
      9,
    )
    await program.record({ decision: 'Wait for a place' })
    expect(await flaws(program)).toEqual([])
    await services.thread.sequence()
    expect(await flaws(program)).toEqual([])
  })
})
