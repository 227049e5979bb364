/**
 * An adversary with read and write makes up to 40 calls, of any methods and MCP tools in any order, while the clock moves.
 * What others recorded and said, what stops it, and what others read must come out of it as if it had never called.
 * `CSTP_SOAK=1` makes 2 000 runs, `CSTP_FUZZ_RUNS` another number; `CSTP_FUZZ_SEED` repeats a run.
 */
import { expect, test } from 'bun:test'
import { openMemoryProgram } from '../support/program.ts'
import * as fc from '../support/property.ts'
import { plans } from './adversary-steps.ts'
import { openWorld, settle, stopped, take, unquoted, unstopped, untouchable } from './adversary-world.ts'

const numRuns = Number(process.env.CSTP_FUZZ_RUNS ?? (process.env.CSTP_SOAK ? 2_000 : 60))
const seed = Number(process.env.CSTP_FUZZ_SEED ?? (process.env.CSTP_SOAK ? Date.now() % 1_000_000 : 1))

test(`${numRuns} adversaries with read and write gain nothing`, async () => {
  const undisturbed = await openMemoryProgram()
  const quiet = await openWorld(undisturbed)
  expect(await stopped(quiet)).toBe(true)
  await settle(quiet)
  const expected = await untouchable(quiet)
  await undisturbed.close()
  // What is compared is not empty: there are enough reviews for figures.
  expect(expected.by_others).toMatchObject({ scored: 6, accuracy: 0.25 })
  expect(expected.observed).toBe(3)
  await fc.assert(
    fc.asyncProperty(plans, async (taken) => {
      const program = await openMemoryProgram()
      try {
        const world = await openWorld(program)
        const wrong: unknown[] = []
        for (const step of taken) wrong.push(...unstopped(await take(world, step)))
        expect(wrong).toEqual([])
        expect(await unquoted(world)).toEqual([])
        expect(await stopped(world)).toBe(true)
        await settle(world)
        expect(await untouchable(world)).toEqual(expected)
      } finally {
        await program.close()
      }
    }),
    { numRuns, seed, endOnFailure: false },
  )
}, 3_600_000)
