/** The texts of the page Calibration, and of the verdict. */

import { counted, whole } from '../figures.ts'
import { labels } from './labels.ts'
import type { Mark } from './mark.ts'

export const calibration = {
  ...labels,
  meanConfidence: (mean_confidence: string) => `mean confidence ${mean_confidence}`,
  of: (scored: string) => `of ${scored}`,
  calibrationError: 'Calibration error',
  chanceAlone: (ece_noise_floor: string) => `chance alone gives ${ece_noise_floor} on average`,
  whatToDo: 'What to do',
  noChange: 'No change is needed.',
  reliability: 'Reliability',
  reliabilityLead:
    'Each dot is a group of decisions with about the same confidence. A dot on the line is well calibrated; below it the agent was overconfident.',
  none: 'No decisions are scored yet.',
  noRangeOff: 'No range is further from the line than chance explains.',
  rangesOff: (off: number) =>
    `${counted(off, 'range')} of five ${off === 1 ? 'is' : 'are'} further from the line than chance explains.`,
  statedConfidence: 'Stated confidence',
  confidenceLead: 'Decisions by tenth of stated confidence.',
  decisions: 'decisions',
  hardlyVaries: 'The confidence hardly varies: it may be stated out of habit.',
  brierParts: 'Parts of the Brier score',
  brierSum: 'Brier score = reliability − resolution + uncertainty.',
  resolution: 'Resolution',
  uncertainty: 'Uncertainty',
  skill: 'Skill',
  logScore: 'Log score',
  drift: 'Is it getting worse?',
  bySource: 'By source of outcome',
  bySourceLead: "Evidence, reviews by others, and an agent's own reviews are kept apart.",
  sourceOfOutcome: 'Source of outcome',
  observedEvidence: 'observed evidence',
  byOther: 'reviewed by another agent',
  byRecorder: 'reviewed by the recorder',
  byAgent: 'By agent',
}

/** How urgent an advice or alert is; not the words of stakes. */
export const severities = { critical: 'urgent', warning: 'soon', info: 'watch' }

export const drift = {
  ...labels,
  brierScoreRose: 'Brier score rose',
  accuracyFell: 'Accuracy fell',
  found: 'Drift was found. ',
  unknown: 'There is not enough data to detect drift yet. ',
  watch: 'No lasting fall is proven, but this got worse. ',
  notFound: 'No drift was found. ',
  compared: (recent_period: string, recent_scored: string, historical_period: string, historical_scored: string) =>
    `Compared: ${recent_period} (${recent_scored}) and ${historical_period} (${historical_scored}).`,
  alerts: 'Drift alerts',
  alert: 'Alert',
  before: 'Before',
  now: 'Now',
  pValue: 'p-value',
  severity: 'Severity',
  period: 'Period',
  drift: 'Drift',
  brierNow: 'Brier now',
  accuracyNow: 'Accuracy now',
  neverComparable: 'In none of these weeks were enough decisions reviewed for a comparison.',
  comparable: (comparable: string, history: string) => `${comparable} of ${history} can be compared`,
  foundInNone: (seen: string) => `${seen}; drift was found in none of them.`,
  foundIn: (seen: string, drifted: string, first: string) =>
    `${seen}; drift was found in ${drifted}, first on ${first}.`,
  weekByWeek: 'Week by week',
  lines: { recent: 'the 30 days before', historical: '90 days before and earlier', drifted: 'drift found' },
  driftByWeek: 'Drift by week',
  tooFew: 'too few',
  chart: (name: string) => `${name} by week; the table below has the figures`,
  week: (
    day: string,
    recent: string,
    recent_scored: number,
    historical: string,
    historical_scored: number,
    p_value: string,
    change: string,
  ) =>
    `${day}: ${recent} in the 30 days before (${recent_scored} scored), ${historical} in the past (${historical_scored} scored), p ${p_value}${change}`,
  weekTooFew: (day: string, recent_scored: number, historical_scored: number) =>
    `${day}: too few reviewed decisions (${recent_scored} recent, ${historical_scored} of the past)`,
}

export const diagram = {
  ...labels,
  name: 'Reliability diagram; the table below has the figures',
  statedConfidence: 'stated confidence',
  succeeded: 'succeeded',
  dot: (range: string, predicted: string, actual: string, decisions: number) =>
    `${range}: mean confidence ${predicted}, succeeded ${actual}, ${decisions} decisions`,
  lead: (wilson: Mark, floor: Mark) => [
    'The size of a dot shows the number of decisions. Vertical lines: ',
    wilson('95 % interval'),
    '. Grey band: ',
    floor('noise floor'),
    '.',
  ],
  caption: 'Reliability by confidence',
  meanConfidence: 'Mean confidence',
  succeededHead: 'Succeeded',
}

export const breakdown = {
  ...labels,
  none: 'There are no figures to compare yet.',
  caption: (toLowerCase: string) => `Calibration: ${toLowerCase}`,
  brier: 'Brier',
  proven: 'Proven',
  more: (count: number) => `and ${whole(count)} more; choose one above`,
}

export const verdict = {
  ranges: (off: number) => `${off} of the five ranges of confidence ${off === 1 ? 'is' : 'are'}`,
  of: (part: string) => (part ? `Decisions ${part}` : 'All decisions'),
  proven: (gap: string, n: string, recent: boolean) =>
    `Proven ${gap} (95 % for all parts together, ${n}${recent ? ' of these 30 days' : ''}).`,
  watched: (gap: string) =>
    `Watch them: ${gap} in the last 30 days (95 % of one look, not proven for all parts together).`,
  besides: (part: string, gap: string) => `Besides, decisions ${part} are ${gap}.`,
  toWatch: 'to watch',
  tooFewReviewed: 'Too few decisions were reviewed. Review more of them: the inbox lists the reviews that are due.',
  all: (known: string) => `They are ${known}.`,
  lately: (known: string) => `In the last 30 days they are ${known}.`,
  noneButRanges: (off: string, known: string) =>
    `No agent, category or stakes is proven to be off, but ${off}. All together are ${known}.`,
  none: (known: string) => `No agent, category or stakes is proven to be off. All together are ${known}.`,
  uninformative: (known: string) =>
    `Confidence does not separate successes from failures: it says nothing about a single decision. They are ${known}.`,
  tooFew: (known: string) => `Too few to tell a gap from chance: they are ${known}. Review more of them.`,
  rangesOff: 'ranges off',
  notProven: 'not proven',
}
