/** What the checks of the doctor share: findings, and how they are made. */
import type { Settings } from '../config/config.ts'

export type Severity = 'error' | 'warning' | 'note'

export interface Finding {
  severity: Severity
  /** What is wrong, in one sentence. */
  what: string
  /** How to fix it: a command, or what to do. */
  fix: string
}

/** One thing to check; it finds nothing if all is well. */
export interface Check {
  name: string
  run(settings: Settings): Iterable<Finding> | AsyncIterable<Finding>
}

export const error = (what: string, fix: string): Finding => ({ severity: 'error', what, fix })
export const warning = (what: string, fix: string): Finding => ({ severity: 'warning', what, fix })
/** Nothing to worry about. */
export const note = (what: string, fix: string): Finding => ({ severity: 'note', what, fix })

/** Text as one word of a POSIX shell. */
export const word = (text: string): string =>
  /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`
