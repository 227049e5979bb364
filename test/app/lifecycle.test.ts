/** Background work of many programs in one process. */
import { expect, spyOn, test } from 'bun:test'
import { later } from '../../src/app/lifecycle.ts'
import { startPeriodicJob } from '../../src/core/periodic-job.ts'

test('an idle process has one timer for the rounds of all programs, and none once they are closed', async () => {
  const [set, cleared] = [spyOn(globalThis, 'setTimeout'), spyOn(globalThis, 'clearTimeout')]
  try {
    let rounds = 0
    const work = async () => {
      rounds++
      return 0
    }
    const jobs = Array.from({ length: 60 }, () =>
      startPeriodicJob({ every_ms: 1_000, after: later, work, failed: () => {} }),
    )
    while (rounds < jobs.length) await Bun.sleep(1)
    const made = set.mock.results.filter((_, call) => (set.mock.calls[call]![1] ?? 0) > 1)
    // Two, if a second ended meanwhile.
    expect(made.length).toBeLessThanOrEqual(2)
    await Promise.all(jobs.map((job) => job.close()))
    const ended = new Set(cleared.mock.calls.map(([timer]) => timer))
    expect(made.filter(({ value }) => !ended.has(value as never))).toEqual([])
  } finally {
    set.mockRestore()
    cleared.mockRestore()
  }
})

test('rounds that are due together all run, but those that were cancelled', async () => {
  const ran: number[] = []
  const cancels = [1, 2, 3].map((one) => later(1_000, () => ran.push(one), true))
  cancels[1]!()
  await new Promise<void>((resolve) => later(1_600, () => resolve(), true))
  expect(ran).toEqual([1, 3])
})
