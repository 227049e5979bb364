/** How often verdicts and drift alarms are right about simulated agents, as the tables of the guide to calibration. */
import { percent, table } from './figures.ts'
import { fallRates, falseNotices, recoveryDays, verdictRates } from './simulated.ts'

const teams = [
  [2, 50],
  [2, 150],
  [4, 100],
  [4, 400],
  [10, 100],
] as const
/** Decisions a day, and mean confidence. */
const series = [
  [1, 0.8],
  [1, 0.6],
  [1, 0.93],
  [0.3, 0.8],
  [5, 0.8],
] as const

const days = (value: number): string => (Number.isFinite(value) ? `${value}` : 'never')

/** All tables. @param histories simulated for each row: of teams, and of agents over time */
export function rateTables(histories: { teams: number; series: number }): string {
  const verdicts = teams.map(([agents, each]) => {
    const { false_parts, false_verdicts, found } = verdictRates(histories.teams, agents, each)
    return [agents, each, ...[false_parts, false_verdicts, found].map(percent)]
  })
  const drifts = series.map(([perDay, sure]) => {
    const [twenty, thirty] = [0.2, 0.3].map((points) => fallRates(histories.series, perDay, sure, points)) as [
      ReturnType<typeof fallRates>,
      ReturnType<typeof fallRates>,
    ]
    const notices = falseNotices(histories.series, perDay, sure)
    return [
      perDay,
      sure,
      notices.toFixed(2),
      days(twenty.days),
      percent(twenty.shown),
      days(thirty.days),
      percent(thirty.shown),
    ]
  })
  const recovered = (['results', 'confidence'] as const).map((by) => [by, days(recoveryDays(histories.series, by))])
  return [
    `**Verdicts**, in percent of ${histories.teams} teams: a calibrated one in which a part, or anything at all, is called off (wrong), and one whose first half states 20 points too much and whose second half 20 too little, in which an agent of the first half is named (right).`,
    table(
      ['agents', 'decisions of each', 'part named, wrong', 'anything off, wrong', 'agent named, right'],
      0,
      verdicts,
    ),
    `**Drift**, over ${histories.series} histories of one agent that is looked at every day: false notices a year if it never changes, and, if its success rate falls for good on day 120, the median of the days until that is found and the percentage of histories in which it is shown on day 240.`,
    table(
      [
        'decisions a day',
        'mean confidence',
        'false notices a year',
        '20 points: days',
        'shown',
        '30 points: days',
        'shown',
      ],
      0,
      drifts,
    ),
    `**Recovery** from a fall of 30 points that lasted 60 days: the median of the days until the finding is over.`,
    table(['right again', 'days'], 1, recovered),
  ].join('\n\n')
}

/** As many as the guide's tables are of. */
export const histories = { teams: 200, series: 400 }
