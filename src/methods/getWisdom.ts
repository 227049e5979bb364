/** cstp.getWisdom: lessons from the decisions of each category. */
import * as v from 'valibot'
import { nonEmptyText } from '../../sdk/schema/decision.ts'
import { WisdomEntry } from '../../sdk/schema/memory.ts'
import { whole } from '../../sdk/schema/params.ts'
import { defineMethod } from '../calls/method.ts'
import { given } from '../domain/record/decision/lookup.ts'

const d = v.description

/** How long the first call waits for the embedder to compare agents' statements; for later calls most are compared already. */
const maxWaitMs = 5_000

export const getWisdom = defineMethod({
  summary:
    'Summarizes each category: success rate, confirmed principles and common causes of failure. Compares the newest decisions of each category, and more of them for a requested category.',
  params: v.object({
    category: v.optional(v.pipe(nonEmptyText(64), d('Only this category.'))),
    min_decisions: v.pipe(
      v.optional(whole(1, 1_000_000)),
      d(
        'Minimum number of reviewed decisions; categories with fewer are left out. By default 5; 1 for a requested category.',
      ),
    ),
  }),
  result: v.object({
    wisdom: v.pipe(v.array(WisdomEntry), d('Largest category first.')),
    total_decisions: v.pipe(v.number(), d('Reviewed decisions on which it is based.')),
    categories_analyzed: v.pipe(v.number(), d('Categories with enough reviewed decisions.')),
    by_meaning: v.pipe(
      v.boolean(),
      d('False if the embedder did not compare all statements in time; some are then grouped only by wording.'),
    ),
  }),
  scope: 'read',
  effect: 'read',
  cost: 64,
  async handle({ wisdom, signal, yieldToEventLoop }, { category, min_decisions = category === undefined ? 5 : 1 }) {
    const within = { signal: AbortSignal.any([signal, AbortSignal.timeout(maxWaitMs)]), yieldToEventLoop }
    const { categories, by_meaning } = await wisdom.of({ ...given({ category }), min_decisions }, within)
    return {
      wisdom: categories,
      total_decisions: categories.reduce((sum, { decisions }) => sum + decisions, 0),
      categories_analyzed: categories.length,
      by_meaning,
    }
  },
})
