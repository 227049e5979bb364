/** The texts of the page of one decision. */
import type { EdgeType } from '../../../sdk/client.ts'
import { counted, whole } from '../figures.ts'

/** What one end of a link is to the other, and the other way round. */
const relations: Record<EdgeType, readonly [from: string, to: string]> = {
  relates_to: ['related to', 'related to'],
  supersedes: ['supersedes', 'superseded by'],
  depends_on: ['depends on', 'needed by'],
  contradicts: ['contradicts', 'contradicted by'],
  refines: ['refines', 'refined by'],
  caused_by: ['caused by', 'cause of'],
  blocks: ['blocks', 'blocked by'],
}

export const graph = {
  none: 'This decision has no links. Agents link decisions with cstp.linkDecisions.',
  steps: 'Steps from here',
  picture: 'Decisions and their links',
  layer: (step: number) => (step === 0 ? 'This decision' : `${counted(step, 'step')} away`),
  relations,
  more: (count: number) => `+${whole(count)}`,
  open: (count: number, title: string) => `Show ${counted(count, 'more decision')} linked with ${title}`,
  less: '−',
  close: (title: string) => `Show fewer decisions linked with ${title}`,
  ineffective: 'without effect',
  truncated: (count: number) => `Only the nearest ${whole(count)} decisions are known here.`,
  list: 'Show as a list',
  dismissed: (by: string, at: string, reason: string | null) =>
    ` dismissed by ${by}, ${at}${reason ? `: ${reason}` : ''}`,
  contradiction: 'Contradiction with ',
}
