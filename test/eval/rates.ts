/** How often verdicts and drift alarms are right about simulated agents, as the tables of the guide to calibration. */
import { percent, table } from './figures.ts'
import { fallRates, falseNotices, recoveryDays, verdictRates } from './simulated.ts'
import { calledOff, everCalledOff, habits, intervals, resolutionRates, sizes } from './simulated-looks.ts'

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

/** Bounds that are broken, in words; filled while the tables are made. */
type Broken = string[]
const bound = (broken: Broken, holds: boolean, what: string): void => {
  if (!holds) broken.push(what)
}

const shares = (values: readonly number[]): string => values.map((value) => Math.round(100 * value)).join(' / ')

/** How often each kind of interval calls an agent off, by number of decisions. */
function intervalTable(histories: number, broken: Broken): string {
  const rows = Object.keys(intervals).map((name) => {
    const [right, ...off] = [0, 0.1, 0.15, 0.2].map((over) => calledOff(name, histories, over))
    const ever = everCalledOff(name, histories)
    if (name === 'for continuous looking') {
      bound(broken, ever <= 0.05, `intervals: a calibrated agent is called off in ${percent(ever)} % within 180 days`)
      bound(broken, off[2]![2]! >= 0.9, `intervals: 20 points are found in ${percent(off[2]![2]!)} % at 100 decisions`)
    }
    return [name, shares(right!), percent(ever), ...off.map(shares)]
  })
  const header = ['interval', 'calibrated', 'ever in 180 days', '10 points', '15 points', '20 points']
  return table(header, 1, rows)
}

/** How often confidences are called a habit, and well calibrated. */
function resolutionTable(histories: number, broken: Broken): string {
  const rows = Object.entries(habits).map(([name, { honest }]) => {
    const { flagged, ever, fine } = resolutionRates(name, histories)
    const worst = honest ? Math.max(...flagged) : 1 - flagged.at(-1)!
    const most = honest ? 0.05 : name.includes('.76') ? 0.5 : 0.05
    bound(broken, worst <= most, `resolution: ${name} is judged wrongly in ${percent(worst)} %`)
    if (!honest) bound(broken, fine.at(-1)! <= 0.05, `${name} is called well calibrated in ${percent(fine.at(-1)!)} %`)
    return [name, shares(flagged), percent(ever), shares(fine)]
  })
  return table(['confidences', 'habit', 'habit, ever in 180 days', 'well calibrated'], 1, rows)
}

/** All tables, and which bounds they break. @param histories simulated for each row: of teams, and of agents over time */
export function rateTables(histories: { teams: number; series: number; looks: number }): {
  text: string
  broken: Broken
} {
  const broken: Broken = []
  const verdicts = teams.map(([agents, each]) => {
    const { false_parts, false_verdicts, found } = verdictRates(histories.teams, agents, each)
    bound(
      broken,
      false_verdicts <= 0.05,
      `verdicts: ${agents} calibrated agents are off in ${percent(false_verdicts)} %`,
    )
    return [agents, each, ...[false_parts, false_verdicts, found].map(percent)]
  })
  const drifts = series.map(([perDay, sure]) => {
    const [twenty, thirty] = [0.2, 0.3].map((points) => fallRates(histories.series, perDay, sure, points)) as [
      ReturnType<typeof fallRates>,
      ReturnType<typeof fallRates>,
    ]
    const notices = falseNotices(histories.series, perDay, sure)
    bound(broken, notices <= 0.15, `drift: ${notices.toFixed(2)} false notices a year at ${perDay} a day, ${sure}`)
    if (perDay === 1) {
      // At .6 no detector that learns the rate takes 21 days: docs/guide/calibration.md has the bound (drift-bound.ts).
      bound(broken, thirty.days <= (sure < 0.7 ? 25 : 21), `drift: 30 points take ${thirty.days} days at ${sure}`)
      bound(
        broken,
        thirty.shown >= 0.95,
        `drift: 30 points are shown on day 240 in ${percent(thirty.shown)} % at ${sure}`,
      )
    }
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
  const text = [
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
    `**Intervals**, in percent of ${histories.looks} histories of one agent, at ${sizes.join(', ')} decisions: called off at one look if it is calibrated (coverage is the rest) or states 10, 15 or 20 points too much (power), and called off at least once in 180 daily looks if it is calibrated.`,
    intervalTable(histories.looks, broken),
    `**Resolution**, in percent of ${histories.looks} histories at ${sizes.join(', ')} decisions: \`habituation_detected\`, also at least once in 180 daily looks, and the verdict \`well_calibrated\`.`,
    resolutionTable(histories.looks, broken),
  ].join('\n\n')
  return { text, broken }
}

/** As many as the guide's tables are of. */
export const histories = { teams: 200, series: 1_000, looks: 300 }
