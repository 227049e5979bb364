/** The texts of the inbox. */

import type { ReviewDecisionResult } from '../../../sdk/client.ts'
import { counted, whole } from '../figures.ts'
import { keptAsRemark } from './decision.ts'
import { labels } from './labels.ts'

export const inbox = {
  ...labels,
  types: {
    review_outcome: 'Review due',
    stale_pending: 'Overdue review',
    calibration_drift: 'Calibration drift',
    open_breaker: 'Breaker open',
    contradiction: 'Contradiction',
  },
  priorities: { high: 'urgent', medium: 'soon', low: 'later' },
  allTypes: 'all',
  of: (name: string, count: string) => `${name} (${count})`,
  items: 'To review and to settle',
  approvals: 'Waiting for approval',
  approvalHeads: ['Action', 'Agent', 'Stakes', 'Until'],
  order: 'Order',
  newest: 'newest first',
  urgent: 'most urgent first',
  headline: (count: number) => (count === 1 ? '1 item waits.' : `${whole(count)} items wait.`),
  nothing: 'Nothing waits: no review is due, no drift was found, no breaker is open.',
  onlyApprovals: 'Only requests for approval wait.',
  noMatch: 'No item matches these filters.',
  pages: 'Pages of the inbox',
  keys: 'On an item: j and k move, r reviews.',
  keysRead: 'On an item: j and k move. To review, your agent needs the scope write.',
  other: 'The other decision',
  trial: 'Its trial',
  reviewOf: (title: string) => `Review: ${title}`,
  reviewed: (title: string, result: ReviewDecisionResult) =>
    `${title}: ${result.counts ? `reviewed, ${result.outcome}.` : keptAsRemark(result)}`,
  cancel: 'Cancel',
  choose: (name: string) => `Choose ${name}`,
  chosen: (count: number) => `${whole(count)} chosen`,
  snooze: 'Snooze for a week',
  snoozedSome: (count: number) => `${counted(count, 'item')} snoozed for a week, in this browser.`,
  asleep: (count: number) => `${counted(count, 'item')} snoozed.`,
  wake: 'Show again',
  reviewAs: (outcome: string) => `All: ${outcome.toLowerCase()}`,
  reviewedAll: (count: number, outcome: string) => `${counted(count, 'decision')} reviewed: ${outcome}.`,
  bothHold: 'Both hold',
  thisHolds: 'This one holds',
  settled: (title: string, how: string) => `${title}: ${how.toLowerCase()}.`,
  waiting: (count: number) => counted(count, 'item waits', 'items wait'),
}
