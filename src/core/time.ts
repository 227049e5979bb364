/** Instants and days: as milliseconds since 1970, and as text. */
import { boundMs } from '../../sdk/schema/params.ts'

export const dayMs = 86_400_000

/** RFC 3339 in UTC. */
export const timestamp = (ms: number): string => new Date(ms).toISOString()

const form = /^\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}:\d{2}(?:\.\d+)?(?:Z|[+-]\d{2}:\d{2}))?$/

/** Milliseconds since 1970 of an RFC 3339 time, or of the start of a day; null for anything else. */
export const instantMs = (value: string): number | null => (form.test(value) ? boundMs(value, false) : null)
