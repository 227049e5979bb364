/** Folders that a caller names, held inside the data directory. */
import { realpath, stat } from 'node:fs/promises'
import { isAbsolute, relative, resolve, sep } from 'node:path'
import { invalidParams } from '../../sdk/errors.ts'

/** A folder inside the data directory, by its path relative to the folder of the decisions; null for anything else. */
export async function folderInside(data_dir: string, given: string): Promise<string | null> {
  const root = await realpath(data_dir)
  const found = await realpath(isAbsolute(given) ? given : resolve(root, given)).catch(() => null)
  if (found === null || !(found === root || found.startsWith(root + sep)) || !(await stat(found)).isDirectory())
    return null
  return found === root ? '' : relative(root, found).split(sep).join('/')
}

/**
 * The same where the decisions lie in a database: their paths are names, and folders are what these begin with.
 * @throws CstpError `invalid_params` for anything else
 */
export function folderOfDecisions(given: string): string {
  const below = given.replace(/^\.\//, '').replace(/\/+$/, '')
  if (/^decisions(?:\/\d{4}(?:\/\d{2})?)?$/.test(below)) return below
  const expected = 'decisions, decisions/<year> or decisions/<year>/<month>: the decisions lie in PostgreSQL'
  throw invalidParams({
    path: 'decisions_path',
    message: `expected ${expected}`,
    expected,
    received: given.slice(0, 100),
  })
}
