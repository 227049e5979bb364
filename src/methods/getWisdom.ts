/** cstp.getWisdom: what each category's decisions taught. */
import * as v from 'valibot'
import { filledText } from '../../sdk/schema/decision.ts'
import { WisdomEntry } from '../../sdk/schema/memory.ts'
import { whole } from '../../sdk/schema/params.ts'
import { defineMethod } from '../calls/method.ts'
import { given } from '../domain/decision/lookup.ts'
import { wisdom } from '../domain/memory/wisdom.ts'

const d = v.description

export const getWisdom = defineMethod({
  summary: 'Distils each category: how often it succeeds, which principles hold, and how it fails.',
  params: v.object({
    category: v.optional(v.pipe(filledText(64), d('Exactly this category.'))),
    min_decisions: v.pipe(
      v.optional(whole(1, 1_000_000), 5),
      d('Categories with fewer reviewed decisions are left out.'),
    ),
  }),
  result: v.object({
    wisdom: v.pipe(v.array(WisdomEntry), d('Largest category first.')),
    total_decisions: v.pipe(v.number(), d('Reviewed decisions behind it.')),
    categories_analyzed: v.pipe(v.number(), d('Categories with enough of them.')),
  }),
  scope: 'read',
  effect: 'read',
  failure: 'internal_error',
  async handle({ store }, { category, min_decisions }) {
    const found = await wisdom(store, { ...given({ category }), min_decisions })
    return {
      wisdom: found,
      total_decisions: found.reduce((sum, { decisions }) => sum + decisions, 0),
      categories_analyzed: found.length,
    }
  },
})
