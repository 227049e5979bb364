/** The texts of the overview. */
import { labels } from './labels.ts'
import type { Mark } from './mark.ts'

export const outcomes = {
  span: (from: string, to: string) => `${from} to ${to}`,
  until: (to: string) => `until ${to}`,
  older: 'older',
  changed: 'Rules changed',
  decisions: 'decisions',
}

export const overview = {
  ...labels,
  none: (code: Mark) => [
    'No decisions are recorded yet. Agents record them with ',
    code('cstp.recordDecision'),
    ' or ',
    code('cstp.preAction'),
    '.',
  ],
  lastWeek: (last_7d: string) => `${last_7d} in the last 7 days`,
  reviewed: 'Reviewed',
  share: (total: string) => `${total} of them`,
  of: (scored: string) => `of ${scored}`,
  needsAttention: 'Needs attention',
  newestFirst: 'Current conditions first, then the newest.',
  circuitBreakers: 'Circuit breakers',
  breakersLead: 'An open breaker blocks actions until its cooldown is over.',
  noBreaker: 'No breaker is configured.',
  allClosed: (total: string) => `All ${total} are closed.`,
  outcomes: 'Outcomes',
  outcomesLead: 'Of reviewed decisions.',
  unit: 'decisions',
  byStakes: 'By stakes',
  outcomesOverTime: 'Outcomes over time',
  latestDecisions: 'Latest decisions',
  noneInPeriod: 'No decision was recorded in this period. Choose a longer one.',
  latestBlocks: 'Latest blocks',
  noBlock: 'Nothing was blocked yet.',
  when: 'When',
  blockedBy: 'Blocked by',
  call: 'Call',
  error: 'an error',
  failed: 'See decisions that failed',
}
