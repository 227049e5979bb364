/** Decisions of the past for tests: recorded so many days ago, and reviewed if an outcome is given. */
import type { TestProgram } from './program.ts'

const dayMs = 86_400_000

/** @param given fields of the record; `lessons` and `actual_result` go into its review */
export async function decided(
  program: TestProgram,
  days: number,
  { lessons, actual_result, ...given }: Record<string, unknown> = {},
  outcome?: string,
): Promise<string> {
  const created_at = new Date(program.clock.now - days * dayMs).toISOString()
  const id = await program.record({ created_at, ...given }, 'root')
  if (outcome) await program.call('reviewDecision', { id, outcome, lessons, actual_result })
  return id
}

export async function decidedOften(
  program: TestProgram,
  count: number,
  days: number,
  given: Record<string, unknown>,
  outcome: string,
): Promise<string[]> {
  const ids: string[] = []
  for (let at = 0; at < count; at++) ids.push(await decided(program, days, given, outcome))
  return ids
}

/** The same, recorded by alice and reviewed as a success unless `outcome` says otherwise. */
export const decidedByAlice = (
  program: TestProgram,
  days: number,
  given: Record<string, unknown> = {},
  outcome = 'success',
): Promise<string> => decided(program, days, { recorded_by: 'alice', actual_result: 'it ran', ...given }, outcome)
