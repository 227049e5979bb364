/** The texts of the page Trust. */
import type { GetCalibrationResult } from '../../../sdk/client.ts'
import { counted, percent, whole } from '../figures.ts'
import { type Gap, inPoints, partWords, type Side, signedPoints } from './points.ts'

type Cell = GetCalibrationResult['cells'][number]

export const trust = {
  by: 'By',
  kinds: {
    agent_stakes: 'Agents by stakes',
    agent_category: 'Agents by category',
    category_stakes: 'Categories by stakes',
  },
  names: { agent: 'Agent', category: 'Category', stakes: 'Stakes' },
  all: 'All',
  said: 'said',
  came: 'came true',
  few: 'too few',
  range: (low: number, high: number) => `${(100 * low).toFixed(0)}–${percent(high)}`,
  n: (scored: number) => `n ${whole(scored)}`,
  listed: (scored: number, part: string) => `n ${whole(scored)}, scored decisions ${part}`,
  proven: (gap: Gap) => inPoints(gap),
  trend: ({ direction, recent_gap, earlier_gap }: NonNullable<Cell['trend']>) =>
    `${direction}: now says ${signedPoints(recent_gap)}; was ${signedPoints(earlier_gap)} before these 90 days`,
  part: (cell: Cell) => partWords(cell) || 'in all',
  empty: 'Review decisions first: a cell needs outcomes.',
  lead: 'Said: the mean confidence. Came true: the mean outcome with its 95 % interval. n: the decisions counted. A badge is what is proven, 95 % for all parts together; without one chance explains the gap.',
  counted: (scored: string) => `${scored} scored decisions: reviewed, with a confidence, and not abandoned.`,
  agents: {
    title: 'May they decide alone?',
    lead: 'Alone: the lower bound of what came true reaches the threshold. ○ said, ● came true, of all time, with its 95 % interval; the figures are what came true.',
    threshold: 'Alone from a lower bound of',
    thresholds: [
      ['60', '60 %'],
      ['70', '70 %'],
      ['80', '80 %'],
      ['90', '90 %'],
    ] as [string, string][],
    heads: ['Agent', 'High stakes', 'Critical stakes', 'Last 12 weeks', 'What to do'],
    alone: 'alone',
    notAlone: 'not alone',
    belowCritical: 'alone below critical',
    notEnough: (stakes: string) => `not enough known at ${stakes}`,
    none: 'none reviewed',
    ask: (from: string) => `Ask a person at ${from}${from === 'high' ? ' and above' : ''}`,
    lately: '30 days:',
    before: 'before:',
    side: (of: Side) =>
      of === null
        ? 'none'
        : `${percent(of.accuracy)} of ${whole(of.scored)} (said ${(100 * of.mean_confidence).toFixed(0)})`,
    weeks: (weeks: readonly (number | null)[]) =>
      `Came true, week by week: ${weeks.map((rate) => (rate === null ? 'none' : percent(rate))).join(', ')}`,
    lastFailure: ', last',
    inForce: 'in force:',
    inShadow: 'in shadow:',
    failures: (count: number) => (count === 1 ? 'its failure' : `its ${whole(count)} failures`),
    review: (shown: number, of: number) => `Review ${whole(shown)} of its ${whole(of)}`,
    /** A rule that asks a person before the agent acts, at these stakes and above. */
    rule: (agent: string, from: 'high' | 'critical') => `guardrails:
  - id: ask-for-${agent.replace(/[^a-z0-9-]+/gi, '-')}
    mode: shadow
    action: step_up
    conditions:
      - { type: field, field: agent_id, operator: "=", value: ${JSON.stringify(agent)} }
      - { type: field, field: stakes, operator: in, value: ${from === 'high' ? '[high, critical]' : '[critical]'} }
    message: ${JSON.stringify(`A person decides what ${agent} does at ${from} stakes`)}
`,
  },
}

export const astray = {
  title: 'Calls ran otherwise than they were checked, or may: the hook of these agents does not hold.',
  kinds: {
    ran_though_denied: (count: number) => `${counted(count, 'call')} ran though denied`,
    ran_other_than_judged: (count: number) => `${counted(count, 'call')} ran with another input than checked`,
    ran_unjudged: (count: number) => `${counted(count, 'call')} ran unchecked`,
    ungated: (count: number) => `${counted(count, 'session')} without any check`,
    hooks_changed: (count: number) => `${counted(count, 'session')} whose hooks are not as cstp init wrote them`,
  },
}
