/** The texts of the page Trust. */
import type { GetCalibrationResult } from '../../../sdk/client.ts'
import { counted, percent, whole } from '../figures.ts'
import { type Gap, inPoints, partWords, signedPoints } from './points.ts'

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
  worst: (part: string, said: number, came: number, gap: Gap, scored: number) =>
    `Not to be trusted alone: decisions ${part}. They said ${percent(said)}, ${percent(came)} came true; proven ${inPoints(gap)} (95 % for all parts together, ${counted(scored, 'decision')}).`,
  under: (part: string, said: number, came: number, gap: Gap, scored: number) =>
    `No part is proven to be overconfident. Decisions ${part} said ${percent(said)}, and ${percent(came)} came true: proven ${inPoints(gap)} (${counted(scored, 'decision')}).`,
  calm: (scored: number) =>
    `No part is proven to be over- or underconfident, by ${counted(scored, 'scored decision')}.`,
  nothing: 'No decision is scored yet.',
  empty: 'Review decisions first: a cell needs outcomes.',
  lead: 'Said: the mean confidence. Came true: the mean outcome with its 95 % interval. n: the decisions counted. A badge is what is proven, 95 % for all parts together; without one chance explains the gap.',
  counted: (scored: string) => `${scored} scored decisions: reviewed, with a confidence, and not abandoned.`,
  compare: {
    title: 'Compare two agents',
    one: 'Agent',
    other: 'With',
    figure: 'Figure',
    scored: 'Scored decisions',
    said: 'Said',
    came: 'Came true',
    gap: 'Gap',
    interval: '95 % interval of the gap',
    brier: 'Brier score',
    resolution: 'Resolution',
    proven: 'Proven',
    notProven: 'no gap',
  },
}
