/** Instants and days, as milliseconds since 1970 and as text. */
import { boundMs } from '../../sdk/schema/params.ts'

export const dayMs = 86_400_000
export const hourMs = 3_600_000

const unitMs: Record<string, number> = { s: 1_000, m: 60_000, h: 3_600_000, d: dayMs, w: 7 * dayMs }

/** The first millisecond of the last days: today and as many whole UTC days before it, so that every figure counts the same, and a store answers again from memory. */
export const lastDays = (now_ms: number, days: number): number => (Math.floor(now_ms / dayMs) - days) * dayMs

/** Milliseconds of a duration such as `90s`, `15m`, `1h`, `30d` or `2w`, which must be valid. */
export const durationMs = (text: string): number => Number(text.slice(0, -1)) * unitMs[text.at(-1)!]!

/** RFC 3339 in UTC. */
export const timestamp = (ms: number): string => new Date(ms).toISOString()

const form = /^\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}:\d{2}(?:\.\d+)?(?:Z|[+-]\d{2}:\d{2}))?$/

/** Milliseconds since 1970 of an RFC 3339 time, or of the start of a day; null for anything else. */
export const instantMs = (value: string): number | null => (form.test(value) ? boundMs(value, false) : null)
