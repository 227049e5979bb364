/** Data and vectors in `../shared`, outside the repository; tests that need them are skipped if they are absent. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** The text of a file in `../shared`; null where there is none. */
export function sharedText(path: string): string | null {
  const full = join(import.meta.dir, '../../../shared', path)
  if (existsSync(full)) return readFileSync(full, 'utf8')
  console.warn(`../shared/${path} is not there: the tests that need it are skipped`)
  return null
}
