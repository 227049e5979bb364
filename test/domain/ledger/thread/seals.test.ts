/** The seal of a session says what it did: what the thread does not hold shows. */
import { expect, setDefaultTimeout, test } from 'bun:test'
import type { StoredAct } from '../../../../sdk/storage/thread.ts'
import { checkSeals, type SealCheck, sealProblem } from '../../../../src/domain/ledger/thread/seals.ts'
import { openHooks } from '../../../support/hooks.ts'
import { memoryProgram } from '../../../support/program.ts'
import { allActs } from '../../../support/thread.ts'

setDefaultTimeout(120_000)

const sealsOf = async (acts: readonly StoredAct[]): Promise<SealCheck[]> =>
  Array.fromAsync(
    checkSeals({
      read: async (query) => ('from' in query ? acts.slice(query.from! - 1, query.from! - 1 + query.limit) : []),
    }),
  )

const isOf = (kind: string, session: string) => (act: StoredAct) =>
  act.kind === kind && JSON.parse(act.payload!).session === session

/** With another act in the place of the first that passes, as if it had never been appended. */
const without = (acts: readonly StoredAct[], passes: (act: StoredAct) => boolean): StoredAct[] => {
  const first = acts.find(passes)
  return acts.map((act) => (act === first ? { ...act, kind: 'call' as const } : act))
}

test('sessions that overlap are sealed with their own counts, and what is left out of one shows', async () => {
  const program = await memoryProgram()
  const { event, bash } = openHooks(program)
  await bash('echo before')
  await program.services.thread.sequence()
  await event('SessionStart', { source: 'startup', session_id: 's2' })
  for (let number = 0; number < 12; number++) {
    await bash(`echo ${number}`, '', { session_id: 's2' })
    await bash(`echo other ${number}`)
  }
  await event('SessionEnd', { reason: 'exit', session_id: 's2' })
  await bash('echo after')
  await event('SessionEnd', { reason: 'exit' })
  const acts = await allActs(program.store)
  const [first, second] = await sealsOf(acts)
  expect(first).toMatchObject({ sealed: { actions: 12, verdicts: 12 }, found: { actions: 12, verdicts: 12 } })
  expect(second).toMatchObject({ sealed: { actions: 14, verdicts: 14 }, found: { actions: 14, verdicts: 14 } })
  expect([first!.complete, second!.complete]).toEqual([true, true])
  const seal = acts.find(({ record_id }) => record_id === first!.record_id)!
  const { first_index, last_index } = JSON.parse(seal.payload!)
  const places = acts.flatMap((act) => (isOf('action', first!.session)(act) ? act.seq! : []))
  expect(places.every((seq) => seq >= first_index && seq <= last_index && last_index < seal.seq!)).toBe(true)
  expect(first_index).toBeGreaterThan(1)

  for (const [kind, what] of [
    ['action', '12 actions sealed, 11 found'],
    ['verdict', '12 verdicts sealed, 11 found'],
  ] as const) {
    const [broken, whole] = await sealsOf(without(acts, isOf(kind, first!.session)))
    expect([broken!.complete, whole!.complete]).toEqual([false, true])
    expect(sealProblem(broken!)).toBe(`session ${first!.session}: ${what}`)
  }
  // What was erased may have been of the session: it is no omission.
  const gone = acts.find(isOf('action', first!.session))!
  const erased = acts.map((act) => (act === gone ? { ...act, payload: null, salt: null } : act))
  expect((await sealsOf(erased))[0]).toMatchObject({ complete: true, found: { actions: 11 }, erased: { actions: 1 } })
})
