/** cstp.getCompacted: decisions, each at the level of detail for its age. */
import * as v from 'valibot'
import { nonEmptyText } from '../../sdk/schema/decision.ts'
import { LevelCounts } from '../../sdk/schema/memory.ts'
import { whole } from '../../sdk/schema/params.ts'
import { defineMethod } from '../calls/method.ts'
import { countLevels, levels as levelNames, listCompacted } from '../domain/learn/memory/compaction.ts'
import { given } from '../domain/record/decision/lookup.ts'

const d = v.description

export const getCompacted = defineMethod({
  summary: 'Lists decisions, newest first, each at the level of detail for its age: full, summary, digest or wisdom.',
  params: v.object({
    category: v.optional(v.pipe(nonEmptyText(64), d('Only this category.'))),
    level: v.optional(v.pipe(v.picklist(levelNames), d('Only this level.'))),
    limit: v.optional(whole(1, 500), 50),
    include_preserved: v.pipe(v.optional(v.boolean(), true), d('False leaves out preserved decisions.')),
  }),
  result: v.object({
    decisions: v.pipe(
      v.array(
        v.looseObject({
          id: v.string(),
          level: v.pipe(v.picklist(levelNames), d('Its level of detail.')),
          decision: v.string(),
          category: v.pipe(v.nullable(v.string()), d('Null if the agent gave none.')),
          date: v.string(),
          preserved: v.pipe(v.boolean(), d('Whether it is kept at full detail (preserved).')),
        }),
      ),
      d(
        'Every level contains `outcome, pattern, lessons`; a digest adds `one_line`, a summary adds `confidence, actual, stakes`; full is the whole record.',
      ),
    ),
    total: v.number(),
    levels: v.pipe(LevelCounts, d('Decisions at each level, regardless of the parameter `level`.')),
  }),
  scope: 'read',
  effect: 'read',
  cost: 32,
  async handle({ store, now }, { category, level, limit, include_preserved }) {
    const [base, now_ms] = [given({ category }), now()]
    const { levels } = await countLevels(store, base, now_ms)
    return { ...(await listCompacted(store, base, { level, limit, include_preserved }, now_ms)), levels }
  },
})
