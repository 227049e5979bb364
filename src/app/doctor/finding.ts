/** Findings of the doctor's checks, and helpers to create them. */
import type { Settings } from '../config/config.ts'
import type { PortWithFiles } from '../own-drivers.ts'

export type Severity = 'error' | 'warning' | 'note'

export interface Finding {
  severity: Severity
  /** What is wrong, in one sentence. */
  what: string
  /** How to fix it: a command or an instruction. */
  fix: string
}

/** A single check; yields nothing if it passes. */
export interface Check {
  name: string
  /** The ports whose files it reads: it is left out if a driver of CSTP_DRIVERS replaces one of them. */
  files?: readonly PortWithFiles[]
  run(settings: Settings): Iterable<Finding> | AsyncIterable<Finding>
}

export const error = (what: string, fix: string): Finding => ({ severity: 'error', what, fix })
export const warning = (what: string, fix: string): Finding => ({ severity: 'warning', what, fix })
/** An informational finding. */
export const note = (what: string, fix: string): Finding => ({ severity: 'note', what, fix })
