/** The texts of the page Deliberation. */

import { counted } from '../figures.ts'
import { labels } from './labels.ts'
import type { Part } from './mark.ts'

export const deliberation = {
  ...labels,
  ofAll: 'Sessions of all agents that have not led to a decision yet.',
  ofAgent: (agent: string) =>
    `Sessions of ${agent} that have not led to a decision yet; sessions of other agents need the scope admin.`,
  sessions: 'Sessions',
  nobody: 'No agent is deliberating. ',
  notNow: (agent: string) => `${agent} is not deliberating. `,
  explained: 'Queries, checks and thoughts of agents are shown here until a decision uses them.',
  lead: (inputs: number, dropped: number, last: Part) => [
    `${counted(inputs, 'input')}${dropped > 0 ? `, ${counted(dropped, 'older one')} dropped` : ''}, the last `,
    last,
  ],
  by: (type: string, source: Part, when: Part) => [`${type} by `, source, ', ', when],
  usedTitle: 'Used by decisions',
  noneUsed: 'No decision has used a session yet.',
  usedCaption: 'Sessions that decisions used',
  used: 'Used',
}
