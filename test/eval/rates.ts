/** How often verdicts and drift alarms are right about simulated agents, as the tables of the guide to calibration. */
import { percent, table } from './figures.ts'
import { categoryRates, driftRates, verdictRates } from './simulated.ts'

const teams = [
  [2, 50],
  [2, 150],
  [4, 100],
  [4, 400],
  [10, 100],
] as const
const series = [
  [10, 30, 0.8],
  [25, 60, 0.8],
  [40, 120, 0.8],
  [60, 200, 0.8],
  [120, 400, 0.8],
  [60, 200, 0.6],
  [60, 200, 0.93],
] as const

/** All tables. @param histories simulated for each row: of teams, of series, of sets of categories */
export async function rateTables(histories: { teams: number; series: number; categories: number }): Promise<string> {
  const verdicts = teams.map(([agents, each]) => {
    const { false_parts, false_verdicts, found } = verdictRates(histories.teams, agents, each)
    return [agents, each, ...[false_parts, false_verdicts, found].map(percent)]
  })
  const drifts = series.map(([recent, historical, sure]) => {
    const { false_alarms, found } = driftRates(histories.series, recent, historical, sure)
    return [recent, historical, sure, percent(false_alarms), percent(found)]
  })
  const listed = []
  for (const count of [1, 5, 20]) {
    const { false_alarms, found } = await categoryRates(histories.categories, count)
    listed.push([count, percent(false_alarms), percent(found)])
  }
  return [
    `**Verdicts**, in percent of ${histories.teams} teams: a calibrated one in which a part, or anything at all, is called off (wrong), and one whose first half states 20 points too much and whose second half 20 too little, in which an agent of the first half is named (right).`,
    table(
      ['agents', 'decisions of each', 'part named, wrong', 'anything off, wrong', 'agent named, right'],
      0,
      verdicts,
    ),
    `**Drift**, in percent of ${histories.series} series: a quiet one in which drift is found (wrong), and one whose successes fall by 30 points in the last 30 days in which it is found (right).`,
    table(['recent', 'historical', 'mean confidence', 'quiet, wrong', 'fall of 30 points, right'], 0, drifts),
    `**Categories in \`cstp.ready\`**, in percent of ${histories.categories} histories with 60 recent and 120 historical decisions of each: any is listed though all are quiet (wrong), and the one whose successes fall by 30 points is listed alone (right).`,
    table(['categories', 'quiet, wrong', 'fall of 30 points, right'], 0, listed),
  ].join('\n\n')
}

/** As many as the guide's tables are of. */
export const histories = { teams: 200, series: 400, categories: 200 }
