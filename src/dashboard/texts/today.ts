/** The texts of the page Today. */
import type { GetBriefingResult } from '../../../sdk/client.ts'
import { counted, percent, whole } from '../figures.ts'
import { labels } from './labels.ts'
import type { Part } from './mark.ts'
import { bothPeriods } from './points.ts'

type Briefing = GetBriefingResult
type Rate = NonNullable<Briefing['worse']>['recent']

const rate = ({ rate: share, scored }: Rate): string => `${percent(share)} of ${whole(scored)}`

export const today = {
  ...labels,
  looked: (at: string) => `Since you looked (${at})`,
  whose: 'Whose',
  everyone: 'everyone’s',
  mine: 'mine',
  projectHint: 'owner/repo',
  waits: 'Waits for you',
  nothingWaits: 'Nothing waits for you.',
  expires: (when: Part) => ['expires ', when],
  record: (stakes: string, cell: Parameters<typeof bothPeriods>[0]) => `at ${stakes} stakes ${bothPeriods(cell)}`,
  stopped: (agent: string, count: number) => `${agent} stopped ${whole(count)}×`,
  sample: (shown: number, of: number, share: number) =>
    shown === of
      ? `${counted(of, 'review')} due.`
      : `These ${whole(shown)} of ${whole(of)} due reviews tell ${percent(share)} of what all would tell about your agents.`,
  reviews: 'Reviews',
  all: (total: number) => `All ${counted(total, 'item')}`,
  moreContradictions: (count: number) => `and ${counted(count, 'more contradiction')}`,
  changed: 'What changed',
  nothingChanged: 'Nothing was recorded, reviewed or stopped in this period.',
  decided: (count: number) => counted(count, 'decision'),
  reviewed: (count: number) => `${whole(count)} reviewed`,
  failed: (count: number) => `${whole(count)} failed`,
  ofOneCause: (count: number) => `${whole(count)} of one cause`,
  rulesChanged: (count: number) => (count === 1 ? 'the rules changed once' : `the rules changed ${whole(count)} times`),
  newAgents: (count: number) => counted(count, 'new agent'),
  breakersOpened: (count: number) => `${counted(count, 'breaker')} opened`,
  overrides: (count: number) => counted(count, 'override'),
  stops: 'Stopped actions',
  stopHeads: ['Agent', 'Stopped by', 'Times', 'Last action', 'When'],
  worse: 'Getting worse',
  noneWorse: 'No agent is proven to get worse. Success rate of all agents by week:',
  fell: ({ agent, since, recent, earlier }: NonNullable<Briefing['worse']>) =>
    `${agent}: ${rate(recent)} came true since ${since}, ${rate(earlier)} before.`,
  chart: 'Success rate by week; the table below has the figures',
  chartCaption: 'Success rate by week',
  week: 'Week from',
  unfinished: 'not over yet',
  rulesMark: 'rules changed',
  band: '95 % interval',
  rateHead: 'Came true',
  learnt: 'Learnt',
  noneLearnt: 'No review in this period has a lesson.',
  shown: (count: number) => (count === 0 ? 'not shown to an agent yet' : `shown to an agent ${whole(count)}×`),
  start: 'Three steps to begin',
  copy: 'Copy',
  steps: [
    ['Connect the agents on this machine.', 'cstp init'],
    ['Import what the history of your repository has decided already.', 'cstp import git .'],
    ['Or look around first, in the decisions of a made-up web shop.', 'cstp import demo'],
  ],
}
