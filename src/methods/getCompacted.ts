/** cstp.getCompacted: decisions, each at the level of detail for its age. */
import * as v from 'valibot'
import { filledText } from '../../sdk/schema/decision.ts'
import { LevelCounts } from '../../sdk/schema/memory.ts'
import { whole } from '../../sdk/schema/params.ts'
import { defineMethod } from '../calls/method.ts'
import { given } from '../domain/decision/lookup.ts'
import { countLevels, levels as levelNames, listCompacted } from '../domain/memory/compaction.ts'

const d = v.description

export const getCompacted = defineMethod({
  summary: 'Lists decisions, newest first, each in the detail of its age: full, summary, digest or wisdom.',
  params: v.object({
    category: v.optional(v.pipe(filledText(64), d('Exactly this category.'))),
    level: v.optional(v.pipe(v.picklist(levelNames), d('This level only.'))),
    limit: v.optional(whole(1, 500), 50),
    include_preserved: v.pipe(
      v.optional(v.boolean(), true),
      d('False leaves out what is kept at full detail on purpose.'),
    ),
  }),
  result: v.object({
    decisions: v.pipe(
      v.array(
        v.looseObject({
          id: v.string(),
          level: v.pipe(v.picklist(levelNames), d('The detail it is shown in.')),
          decision: v.string(),
          category: v.pipe(v.nullable(v.string()), d('Null if its agent named none.')),
          date: v.string(),
          preserved: v.pipe(v.boolean(), d('Kept at full detail on purpose.')),
        }),
      ),
      d(
        'Every level adds `outcome, pattern, lessons`; a digest adds `one_line`, a summary `confidence, actual, stakes`; full is the whole record.',
      ),
    ),
    total: v.number(),
    levels: v.pipe(LevelCounts, d('Decisions at each level, whatever `level` asks for.')),
  }),
  scope: 'read',
  effect: 'read',
  failure: 'internal_error',
  async handle({ store, now }, { category, level, limit, include_preserved }) {
    const [base, now_ms] = [given({ category }), now()]
    const { levels } = await countLevels(store, base, now_ms)
    return { ...(await listCompacted(store, base, { level, limit, include_preserved }, now_ms)), levels }
  },
})
