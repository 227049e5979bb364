/** Conditions on the time of day and the day of the week. */
import { type TemporalCondition, weekdays } from '../../../../sdk/schema/guardrail.ts'

type Weekday = (typeof weekdays)[number]

/** Cached by time zone: creating one costs more than the rest of a check. */
const formats = new Map<string, Intl.DateTimeFormat>()

function formatIn(timezone: string): Intl.DateTimeFormat {
  let format = formats.get(timezone)
  if (!format) {
    const shape = { weekday: 'short', hour: '2-digit', minute: '2-digit', hourCycle: 'h23' } as const
    format = new Intl.DateTimeFormat('en-GB', { timeZone: timezone, ...shape })
    formats.set(timezone, format)
  }
  return format
}

/** The day of the week and the time of day in a time zone. */
function clockAt(now_ms: number, timezone: string): { day: Weekday; time: string } {
  const parts = formatIn(timezone).formatToParts(now_ms)
  const part = (type: string) => parts.find((one) => one.type === type)?.value ?? ''
  return { day: part('weekday').toLowerCase() as Weekday, time: `${part('hour')}:${part('minute')}` }
}

/** Whether a clock condition holds. In a span past midnight, the hours after midnight belong to the day on which the span began. */
export function onClock({ between, weekdays: days, timezone = 'UTC' }: TemporalCondition, now_ms: number): boolean {
  const { day, time } = clockAt(now_ms, timezone)
  const on = (one: Weekday) => days === undefined || days.includes(one)
  if (between === undefined) return on(day)
  const [from, to] = between
  if (from <= to) return time >= from && time < to && on(day)
  const yesterday = weekdays[(weekdays.indexOf(day) + 6) % 7]!
  return (time >= from && on(day)) || (time < to && on(yesterday))
}
