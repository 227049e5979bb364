/** Formats of figures, times and names. */

export const none = '–'

export type Period = '24h' | '7d' | '30d' | '60d' | '90d' | 'all'
const dayMs = 86_400_000
/** The first instant of a period; undefined for all time. Days are whole UTC days before today, as the service counts them. */
export const startOf = (period: Period): string | undefined =>
  period === 'all'
    ? undefined
    : new Date(
        period === '24h' ? Date.now() - dayMs : (Math.floor(Date.now() / dayMs) - Number.parseInt(period, 10)) * dayMs,
      ).toISOString()

/** A figure that may be missing. */
const given =
  (write: (value: number, digits: number) => string, usual: number) =>
  (value: number | null | undefined, digits = usual): string =>
    value === null || value === undefined ? none : write(value, digits)

export const percent = given((share, digits) => `${(100 * share).toFixed(digits)} %`, 0)
export const decimal = given((value, digits) => value.toFixed(digits), 3)
/** With its sign. */
export const signed = given((value, digits) => `${value < 0 ? '−' : '+'}${Math.abs(value).toFixed(digits)}`, 3)
/** A difference of two shares, with its sign. */
export const gapPoints = given((gap, digits) => `${signed(100 * gap, digits)} points`, 1)
/** A probability that is never quite 0. */
export const pValue = (p: number): string => (p < 0.001 ? '< 0.001' : `= ${p.toFixed(3)}`)
export const whole = (count: number): string => count.toLocaleString('en')
export const counted = (count: number, one: string, many = `${one}s`): string =>
  `${whole(count)} ${count === 1 ? one : many}`

/** Day and minute, UTC. */
export const utc = (rfc3339: string): string => `${rfc3339.slice(0, 10)} ${rfc3339.slice(11, 16)} UTC`

const two = (value: number): string => String(value).padStart(2, '0')
const zone = new Intl.DateTimeFormat('en', { timeZoneName: 'short' })

/** Day and minute in the reader's time zone, with the name of the zone. */
export function local(rfc3339: string): string {
  const at = new Date(rfc3339)
  const name = zone.formatToParts(at).find(({ type }) => type === 'timeZoneName')?.value ?? ''
  return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())} ${two(at.getHours())}:${two(at.getMinutes())} ${name}`
}

const isDay = (text: string): boolean => /^\d{4}-\d\d-\d\d$/.test(text)
/** Day and minute in the reader's time zone, and in UTC if that differs; of a day alone the day. */
export const time = (rfc3339: string): string =>
  isDay(rfc3339) ? rfc3339 : local(rfc3339) === utc(rfc3339) ? utc(rfc3339) : `${local(rfc3339)} (${utc(rfc3339)})`
/** Hour, minute and second in the reader's time zone. */
export const clock = (ms: number): string => {
  const at = new Date(ms)
  return [at.getHours(), at.getMinutes(), at.getSeconds()].map(two).join(':')
}

/** The time so many seconds ago. */
export const before = (seconds: number): string => new Date(Date.now() - 1_000 * seconds).toISOString()

/** A text of at most so many characters, with a sign where it was cut. */
export const cut = (text: string, most = 60): string =>
  text.length > most ? `${text.slice(0, most - 1).trimEnd()}…` : text

/** The two largest units of a span. */
export function span(seconds: number): string {
  const units: [number, string][] = [
    [86_400, 'd'],
    [3_600, 'h'],
    [60, 'min'],
    [1, 's'],
  ]
  const parts: string[] = []
  let rest = Math.round(seconds)
  for (const [size, name] of units) {
    if (rest >= size && parts.length < 2) parts.push(`${Math.floor(rest / size)} ${name}`)
    rest %= size
  }
  return parts.join(' ') || '0 s'
}

/** How long ago a time is, or how far ahead: `2 h ago`, `in 3 d`; of more than 30 days the day. */
export function relative(rfc3339: string, now_ms = Date.now()): string {
  // A day alone, which is of UTC, is so many whole days from today.
  const now = isDay(rfc3339) ? Math.floor(now_ms / dayMs) * dayMs : now_ms
  const seconds = (Date.parse(rfc3339) - now) / 1_000
  const away = Math.abs(seconds)
  if (away < 60) return isDay(rfc3339) ? 'today' : 'now'
  if (away > 30 * 86_400) return local(rfc3339).slice(0, 10)
  const [size, name] = away < 3_600 ? [60, 'min'] : away < 86_400 ? [3_600, 'h'] : [86_400, 'd']
  const count = `${Math.floor(away / Number(size))} ${name}`
  return seconds < 0 ? `${count} ago` : `in ${count}`
}

/** `well_calibrated` as words. */
export const words = (name: string): string => name.replaceAll('_', ' ')
