/** cstp.compact: counts decisions by level of detail. */
import * as v from 'valibot'
import { filledText } from '../../sdk/schema/decision.ts'
import { LevelCounts } from '../../sdk/schema/memory.ts'
import { defineMethod } from '../calls/method.ts'
import { audit } from '../core/audit.ts'
import { given } from '../domain/decision/lookup.ts'
import { countLevels } from '../domain/memory/compaction.ts'

const d = v.description

export const compact = defineMethod({
  summary: 'Counts decisions by their level of detail. Levels follow from age; nothing is deleted.',
  params: v.object({
    category: v.optional(v.pipe(filledText(64), d('Exactly this category.'))),
    dry_run: v.pipe(v.optional(v.boolean(), false), d('Writes no row of the audit trail.')),
  }),
  result: v.object({
    compacted: v.pipe(v.number(), d('Decisions shown shorter than full.')),
    preserved: v.pipe(v.number(), d('Reviewed decisions that are kept at full detail.')),
    levels: v.pipe(LevelCounts, d('Decisions at each level.')),
    dry_run: v.pipe(v.boolean(), d('As requested.')),
  }),
  scope: 'admin',
  effect: 'write',
  failure: 'internal_error',
  async handle(call, { category, dry_run }) {
    const { levels, preserved } = await countLevels(call.store, given({ category }), call.now())
    const compacted = levels.summary + levels.digest + levels.wisdom
    if (!dry_run) await call.store.transaction((tx) => audit(call, tx, [], { compacted, preserved, levels }))
    return { compacted, preserved, levels, dry_run }
  },
})
