/** How data of a newer program is refused: by one sentence, which names the version of the data and that of the program. */
import { dataFormat } from '../../sdk/schema/format.ts'
import { version } from './version.ts'

export { dataFormat }

/** @param what the data @param found its version @param known the newest version that this program reads */
export const newerData = (what: string, found: number, known: number = dataFormat): string =>
  `${what} has version ${found}; this program, cstp ${version}, knows versions up to ${known}`

/** The same, with what to do. */
export const newerFormat = (what: string, found: number, known: number = dataFormat): string =>
  `${newerData(what, found, known)}: start the newer program`

/** Whether a file with this version was written by a newer program. */
export const isNewer = (format: unknown): format is number => typeof format === 'number' && format > dataFormat

/** Why a file with this version can't be read; null if it can. Without a version it has version 1. */
export function formatProblem(what: string, format: unknown): string | null {
  if (format === undefined || format === dataFormat) return null
  return isNewer(format) ? newerFormat(what, format) : `${what} is ${JSON.stringify(format)}, expected ${dataFormat}`
}
