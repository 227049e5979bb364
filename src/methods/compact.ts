/** cstp.compact: counts decisions by level of detail, and those that were shortened since the last run. */
import * as v from 'valibot'
import { nonEmptyText } from '../../sdk/schema/decision.ts'
import { LevelCounts } from '../../sdk/schema/memory.ts'
import { defineMethod } from '../calls/method.ts'
import { audit } from '../core/audit.ts'
import { compactionSince, countLevels } from '../domain/learn/memory/compaction.ts'
import { given } from '../domain/record/decision/lookup.ts'

const d = v.description

export const compact = defineMethod({
  summary:
    'Counts decisions by level of detail, and those compacted since the last call. The level depends on the age of a decision; nothing is deleted.',
  params: v.object({
    category: v.optional(v.pipe(nonEmptyText(64), d('Only this category.'))),
    dry_run: v.pipe(
      v.optional(v.boolean(), false),
      d('Dry run: writes nothing; the next call counts the same decisions.'),
    ),
  }),
  result: v.object({
    compacted: v.pipe(
      v.number(),
      d('Increase since `since` of the number of decisions below full detail; at the first call, all of them.'),
    ),
    shorter: v.pipe(v.number(), d('Decisions below full detail.')),
    since: v.pipe(
      v.nullable(v.string()),
      d('Time of the last compaction with the same `category`, RFC 3339, UTC; null at the first call.'),
    ),
    preserved: v.pipe(v.number(), d('Reviewed decisions that are kept at full detail.')),
    levels: v.pipe(LevelCounts, d('Decisions at each level.')),
    dry_run: v.pipe(v.boolean(), d('As in the request.')),
  }),
  scope: 'admin',
  effect: 'write',
  cost: 32,
  async handle(call, { category, dry_run }) {
    const now_ms = call.now()
    const { levels, preserved } = await countLevels(call.store, given({ category }), now_ms)
    const shorter = levels.summary + levels.digest + levels.wisdom
    return call.store.transaction(async (tx) => {
      const { compacted, since } = await compactionSince(tx, { category, shorter, keep: !dry_run }, now_ms)
      if (!dry_run) await audit(call, tx, [], { compacted, shorter, since, preserved, levels })
      return { compacted, shorter, since, preserved, levels, dry_run }
    })
  },
})
