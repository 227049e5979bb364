/** The texts of the list of decisions and of a search. */
import { whole } from '../figures.ts'

export const search = {
  names: {
    category: 'Category',
    stakes: 'Stakes',
    status: 'Status',
    outcome: 'Outcome',
    agent: 'Agent',
    project: 'Project',
    tag: 'Tag',
    scored: 'Scored',
    from: 'From',
    to: 'To',
  },
  narrow: 'Narrow the list',
  without: (name: string, value: string) => `Remove the filter ${name}: ${value}`,
  clear: 'Clear filters',
  more: (count: number) => `and ${whole(count)} more`,
  hits: 'Found decisions',
  scores: 'Show scores',
  fits: (share: string) => `Relevance ${share}`,
  said: (confidence: string) => `confidence ${confidence}`,
  superseded: 'superseded by',
  above: 'the one above',
  cut: 'The decisions below fit the question no better than chance.',
}
