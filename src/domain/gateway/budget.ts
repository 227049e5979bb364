/** Limits of one session with one server: calls a minute, calls of the session, and the same call that fails again and again. */

export interface Limits {
  /** Most calls in 60 seconds; 0 for no limit. */
  calls_per_minute: number
  /** Most calls of the session; 0 for no limit. */
  calls_per_session: number
  /** Most calls of one tool in the session; 0 for no limit. */
  calls_per_tool: number
  /** A call that failed so often with the same input is refused until the input differs or another call of the tool succeeds; 0 for no limit. */
  same_failures: number
}

export interface Budget {
  /** Counts a call. Returns why it is refused; null if it is not. @param digest digest of its input */
  take(tool: string, digest: string, now_ms: number): string | null
  ended(tool: string, digest: string, ok: boolean): void
}

const minuteMs = 60_000
/** Most different failing calls that are remembered. */
const maxRemembered = 1_000

export function openBudget({ calls_per_minute, calls_per_session, calls_per_tool, same_failures }: Limits): Budget {
  let total = 0
  const ofTool = new Map<string, number>()
  let recent: number[] = []
  const failures = new Map<string, number>()
  return {
    take(tool, digest, now_ms) {
      const failed = failures.get(`${tool} ${digest}`) ?? 0
      if (same_failures > 0 && failed >= same_failures)
        return `${tool} failed ${failed} times in a row with this input: change the input, or do something else`
      if (calls_per_session > 0 && total >= calls_per_session)
        return `this session has used its ${calls_per_session} calls of this server`
      const called = ofTool.get(tool) ?? 0
      if (calls_per_tool > 0 && called >= calls_per_tool)
        return `this session has used its ${calls_per_tool} calls of ${tool}`
      recent = recent.filter((at_ms) => at_ms > now_ms - minuteMs)
      if (calls_per_minute > 0 && recent.length >= calls_per_minute) {
        const seconds = Math.max(1, Math.ceil((recent[0]! + minuteMs - now_ms) / 1_000))
        return `more than ${calls_per_minute} calls a minute of this server: try again in ${seconds} s`
      }
      total++
      ofTool.set(tool, called + 1)
      if (calls_per_minute > 0) recent.push(now_ms)
      return null
    },
    ended(tool, digest, ok) {
      if (same_failures === 0) return
      if (ok) {
        for (const key of failures.keys()) if (key.startsWith(`${tool} `)) failures.delete(key)
        return
      }
      const key = `${tool} ${digest}`
      const count = (failures.get(key) ?? 0) + 1
      failures.delete(key)
      failures.set(key, count)
      if (failures.size > maxRemembered) failures.delete(failures.keys().next().value!)
    },
  }
}
