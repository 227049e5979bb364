/** Tests of what is done with programs that a machine may lack. */
import { test } from 'bun:test'

/** Why something that needs these programs can't run here; null if all are there. */
export function whyLacking(programs: readonly string[]): string | null {
  const lacking = programs.find((program) => Bun.which(program) === null)
  return lacking === undefined ? null : `there is no ${lacking}`
}

/** A test that is skipped, and says why, where there is no such program. */
export function testNeeding(programs: string | readonly string[], title: string, work: () => Promise<unknown>): void {
  const why = whyLacking([programs].flat())
  test.skipIf(why !== null)(why === null ? title : `${title} (skipped: ${why})`, async () => {
    await work()
  })
}
