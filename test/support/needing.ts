/** Tests of what is done with a program that a machine may lack. */
import { test } from 'bun:test'

/** A test that is skipped, and says why, where there is no such program. */
export function testNeeding(program: string, title: string, work: () => Promise<unknown>): void {
  const isThere = Bun.which(program) !== null
  test.skipIf(!isThere)(isThere ? title : `${title} (skipped: there is no ${program})`, async () => {
    await work()
  })
}
