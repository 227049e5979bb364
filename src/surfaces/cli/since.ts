/** `--since` of commands: a date, an instant, or how long ago. */
import { boundMs } from '../../../sdk/schema/params.ts'
import { misuse } from './failure.ts'

const unitMs = { m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 } as const

/** The instant, RFC 3339; undefined where nothing was given. @throws Failure where it is neither */
export function sinceOf(given: string | undefined, now_ms: number): string | undefined {
  if (given === undefined) return undefined
  const ago = /^(\d{1,6})([mhdw])$/.exec(given)
  if (ago) return new Date(now_ms - Number(ago[1]) * unitMs[ago[2] as keyof typeof unitMs]).toISOString()
  if (boundMs(given, false) === null)
    throw misuse(
      `--since needs a date such as 2026-07-01 or a time ago such as 24h or 7d; received ${JSON.stringify(given)}`,
    )
  return given
}
