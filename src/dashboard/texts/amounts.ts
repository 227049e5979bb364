/** Numbers with what they count. */
import { counted, whole } from '../figures.ts'

export const amount = {
  act: (count: number) => counted(count, 'act'),
  call: (count: number) => counted(count, 'call'),
  decision: (count: number) => counted(count, 'decision'),
  event: (count: number) => counted(count, 'event'),
  failure: (count: number) => counted(count, 'failure'),
  record: (count: number) => counted(count, 'record'),
  rule: (count: number) => counted(count, 'rule'),
  scoredDecision: (count: number) => counted(count, 'scored decision'),
  violation: (count: number) => counted(count, 'violation'),
  warning: (count: number) => counted(count, 'warning'),
  week: (count: number) => counted(count, 'week'),
  more: (count: number) => `and ${whole(count)} more`,
}

/** Periods of what changed. */
export const recent = [
  ['24h', 'Last 24 hours'],
  ['7d', 'Last 7 days'],
  ['30d', 'Last 30 days'],
  ['all', 'All time'],
] as const

/** Periods of figures: shorter ones hold too few outcomes. */
export const periods = [
  ['30d', 'Last 30 days'],
  ['60d', 'Last 60 days'],
  ['90d', 'Last 90 days'],
  ['all', 'All time'],
] as const
