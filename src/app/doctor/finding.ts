/** What the checks of a data directory have in common. */
import type { Settings } from '../config/config.ts'

export type Severity = 'error' | 'warning' | 'note'

export interface Finding {
  severity: Severity
  /** What is wrong, in one sentence. */
  what: string
  /** How to mend it: a command, or what to do. */
  mend: string
}

/** One thing to look at; finds nothing where all is well. */
export interface Check {
  name: string
  run(settings: Settings): Iterable<Finding> | AsyncIterable<Finding>
}

export const error = (what: string, mend: string): Finding => ({ severity: 'error', what, mend })
export const warning = (what: string, mend: string): Finding => ({ severity: 'warning', what, mend })
/** Nothing to worry about. */
export const note = (what: string, mend: string): Finding => ({ severity: 'note', what, mend })

/** Text as one word of a POSIX shell. */
export const word = (text: string): string =>
  /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`
