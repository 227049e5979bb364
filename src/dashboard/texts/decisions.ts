/** The texts of the list of decisions and of a search. */

import { type ShownName, shownFilters } from '../../../sdk/schema/decision-fields.ts'
import { counted, whole } from '../figures.ts'
import { labels } from './labels.ts'
import type { Mark } from './mark.ts'

/** The filters of the list. */
const names = {
  ...(Object.fromEntries(shownFilters.map(({ name, label }) => [name, label])) as Record<ShownName, string>),
  scored: 'In figures',
}

export const search = {
  ...labels,
  names,
  narrow: 'Narrow the list',
  without: (name: string, value: string) => `Remove the filter ${name}: ${value}`,
  clear: 'Clear filters',
  more: (count: number) => `and ${whole(count)} more`,
  hits: 'Found decisions',
  scores: 'Show scores',
  fits: (share: string) => `Relevance ${share}`,
  said: (confidence: string) => `confidence ${confidence}`,
  superseded: (link: Mark) => ['superseded by ', link('the one above')],
  cut: 'The decisions below fit the question no better than chance.',
  score: 'Score',
  distance: 'Distance',
}

export const filters = {
  ...labels,
  both: 'Meaning and words',
  names,
  scoredOnly: 'scored only',
  question: 'Question or plan',
  placeholder: 'What are you about to decide?',
  searchBy: 'Search by',
  search: 'Search',
  filters: 'Filters',
  apply: 'Apply filters',
}

export const decisions = {
  beyond: 'The list ends before this page.',
  none: 'No decisions are recorded yet. Agents record them with cstp.recordDecision.',
  noMatch: (link: Mark) => [
    'No decision matches. ',
    link('Clear filters'),
    ', or search by meaning, which needs no exact words.',
  ],
  precedents: (count: number, more: boolean, total: string) =>
    `${more ? 'At least ' : ''}${counted(count, 'precedent')} among ${total}`,
  took: (ms: number) => `, found in ${ms} ms`,
  precedent: {
    weak: 'Weak: none of these fits the question clearly.',
    none: 'No precedent: even the nearest hits are no closer to the question than chance.',
  },
  incomplete: (indexed: number, total: number) =>
    `Index incomplete: ${indexed} of ${total} decisions are searched by meaning.`,
  keywordOnly: 'Embedder unavailable; keyword results only.',
  pages: 'Pages of the list',
  published: 'Published by other workspaces',
  publishedLead: 'They are in no figure and have no page here.',
  from: (workspace: string | null) => (workspace === null ? 'default workspace' : `workspace ${workspace}`),
}

export const table = {
  ...labels,
}

/** Stop words. */
export const everyday =
  'a an and are as at be but by can could did do does for from had has have how i if in into is it its may not of on or our shall should so than that the their then there they this to us was we were what when where which who why will with would you'
