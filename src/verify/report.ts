/** The report that every verification returns: its checks with their results, and what was found wrong. */

import { isNewer, newerFormat } from '../core/format.ts'

export type Fields = Record<string, unknown>
export const isFields = (value: unknown): value is Fields =>
  value !== null && typeof value === 'object' && !Array.isArray(value)
export const fieldsIn = (value: unknown): Fields => (isFields(value) ? value : {})
export const listIn = (value: unknown): Fields[] => (Array.isArray(value) ? value.map(fieldsIn) : [])
export const isHash = (value: unknown): value is string => typeof value === 'string' && /^[0-9a-f]{64}$/.test(value)

/** A value of the file as text: a string as it is, all else as JSON, since a hostile value may not convert to a string. */
export const shown = (value: unknown): string => (typeof value === 'string' ? value : String(JSON.stringify(value)))

export interface Finding<Check extends string = string> {
  check: Check
  /** Number of the event concerned, if any. */
  seq: number | null
  /** Id of the act concerned, if any. */
  record_id: string | null
  message: string
}

export interface Report<Check extends string = string> {
  verified: boolean
  /** `unasked`: nothing was given to check against. `unproved`: the file does not contain enough to decide it. */
  checks: { check: Check; question: string; result: 'passed' | 'failed' | 'unasked' | 'unproved'; detail: string }[]
  /** At most twenty of each check. */
  findings: Finding<Check>[]
  /** Sentences on what was proved, and what was not. */
  proved: string[]
  open: string[]
}

/** Findings of one check that are kept; a damaged file can produce a million. */
const maxFindings = 20

/** Collects the findings of one verification. @param questions every check with its question, in the order of the report */
export function openFindings<Check extends string>(questions: Record<Check, string>) {
  const counts = new Map<Check, number>()
  const list: Finding<Check>[] = []
  let isNewerFile = false
  return {
    list,
    fail(check: Check, message: string, about: { seq?: number | null; record_id?: string } = {}): void {
      if (isNewerFile) return
      const count = (counts.get(check) ?? 0) + 1
      counts.set(check, count)
      const { seq = null, record_id = null } = about
      if (count <= maxFindings) list.push({ check, seq, record_id, message })
    },
    /** @returns whether a newer program wrote the file: that is then the only finding */
    refuseNewer(check: Check, what: string, format: unknown): boolean {
      if (!isNewer(format)) return false
      counts.clear()
      counts.set(check, 1)
      list.splice(0, list.length, { check, seq: null, record_id: null, message: newerFormat(what, format) })
      isNewerFile = true
      return true
    },
    /** @param left checks that were not made, or can't be decided */
    end(
      details: Partial<Record<Check, string>>,
      left: { [check in Check]?: 'unasked' | 'unproved' | false },
    ): Pick<Report<Check>, 'verified' | 'checks' | 'findings'> {
      const names = Object.keys(questions) as Check[]
      return {
        verified: list.length === 0,
        checks: names.map((check) => ({
          check,
          question: questions[check],
          result: counts.has(check) ? 'failed' : ((left[check] || 'passed') as 'unasked'),
          detail: details[check] ?? '',
        })),
        findings: list,
      }
    },
  }
}
export type Findings<Check extends string> = ReturnType<typeof openFindings<Check>>
