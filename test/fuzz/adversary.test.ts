/**
 * An adversary makes up to 40 steps while the clock moves: calls of any methods and MCP tools in any order, with what its credential opens, or
 * what somebody who writes to a repository puts into it. What others recorded and said, what they were granted, what stops it, and what
 * others read must come out of it as if it had never been there; and it reads nothing that is not for it.
 * `CSTP_SOAK=1` makes 2 000 runs, `CSTP_FUZZ_RUNS` another number; `CSTP_FUZZ_SEED` repeats a run.
 */
import { expect, test } from 'bun:test'
import { methods } from '../../src/methods/table.ts'
import { openMemoryProgram } from '../support/program.ts'
import * as fc from '../support/property.ts'
import { leaked, sent, settle, stopped, unquoted, unstopped, untouchable } from './adversary-promises.ts'
import { aimedAt, left, plans } from './adversary-steps.ts'
import { type Credential, openWorld, take } from './adversary-world.ts'

const numRuns = Number(process.env.CSTP_FUZZ_RUNS ?? (process.env.CSTP_SOAK ? 2_000 : 60))
const seed = Number(process.env.CSTP_FUZZ_SEED ?? (process.env.CSTP_SOAK ? Date.now() % 1_000_000 : 1))

type Promised = Awaited<ReturnType<typeof untouchable>>

/** What a credential is trusted with: who reports evidence says which pull request a decision has, and settles outcomes; what happens in a repository is evidence. */
const trusted: Record<Credential, readonly (keyof Promised | 'breaker')[]> = {
  write: [],
  read: [],
  repo: ['observed'],
  evidence: ['observed', 'projects', 'outcomes', 'by_others', 'by_evidence', 'breaker'],
}

async function undisturbed(): Promise<Promised> {
  const program = await openMemoryProgram()
  const quiet = await openWorld(program)
  expect(await stopped(quiet)).toBe(true)
  await settle(quiet)
  const promised = await untouchable(quiet)
  await program.close()
  // What is compared is not empty: there are enough reviews for figures.
  expect(promised.by_others).toMatchObject({ scored: 6, accuracy: 0.25 })
  expect(promised).toMatchObject({ observed: 3, outcomes: { '@alice0': 'success', '@alice3': 'success' } })
  expect(promised.grants).toHaveLength(2)
  expect(promised.decisions).toMatchObject({ '@alice1': { holds: [{ by: 'root' }] } })
  expect(promised.pins).toHaveLength(1)
  return promised
}

test('each method that writes is aimed at, and every other one is called with any parameters', () => {
  const writing = [...methods].flatMap(([name, { effect }]) => (effect === 'read' ? [] : [name.replace('cstp.', '')]))
  expect(writing.filter((name) => !aimedAt.includes(name) && !left.includes(name))).toEqual([])
})

const without = (promised: Promised, names: readonly string[]) =>
  Object.fromEntries(Object.entries(promised).filter(([name]) => !names.includes(name)))

const runsOf = (credential: Credential): number => (credential === 'write' ? numRuns : Math.ceil(numRuns / 4))

test.each(['write', 'read', 'evidence', 'repo'] as const)(
  'adversaries with %s gain nothing',
  async (credential) => {
    const expected = without(await undisturbed(), trusted[credential])
    await fc.assert(
      fc.asyncProperty(plans[credential], async (taken) => {
        const program = await openMemoryProgram()
        try {
          const world = await openWorld(program)
          const wrong: unknown[] = []
          let made = 0
          for (const step of taken) {
            const answers = await take(world, step, credential === 'repo' ? 'read' : credential)
            wrong.push(...unstopped(answers), ...leaked(answers))
            made += sent(answers)
          }
          expect([wrong, made <= 1]).toEqual([[], true])
          expect(await unquoted(world)).toEqual([])
          if (!trusted[credential].includes('breaker')) expect(await stopped(world)).toBe(true)
          await settle(world)
          expect(without(await untouchable(world), trusted[credential])).toEqual(expected)
        } finally {
          await program.close()
        }
      }),
      { numRuns: runsOf(credential), seed, endOnFailure: false },
    )
  },
  3_600_000,
)
