/** cstp.getCompacted: decisions, each in the detail of its age. */
import * as v from 'valibot'
import { filledText } from '../../sdk/schema/decision.ts'
import { whole } from '../../sdk/schema/params.ts'
import type { DecisionFilter } from '../../sdk/storage/store.ts'
import { defineMethod } from '../calls/method.ts'
import { given } from '../domain/decision/lookup.ts'
import { compacted, countLevels, LevelCounts, levelOf, levels, ofLevel } from '../domain/memory/compaction.ts'

const d = v.description

export const getCompacted = defineMethod({
  summary: 'Lists decisions, newest first, each in the detail of its age: full, summary, digest or wisdom.',
  params: v.object({
    category: v.optional(v.pipe(filledText(64), d('Exactly this category.'))),
    level: v.optional(v.pipe(v.picklist(levels), d('This level only.'))),
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
          level: v.pipe(v.picklist(levels), d('The detail it is shown in.')),
          decision: v.string(),
          category: v.string(),
          date: v.string(),
          preserved: v.pipe(v.boolean(), d('Kept at full detail on purpose.')),
        }),
      ),
      d(
        'A digest adds `one_line`; a summary adds `outcome, confidence, actual, pattern, stakes, lessons`; full is the whole record.',
      ),
    ),
    total: v.number(),
    levels: v.pipe(LevelCounts, d('Decisions at each level, whatever `level` asks for.')),
  }),
  scope: 'read',
  effect: 'read',
  failure: 'internal_error',
  async handle({ store, now }, { category, level, limit, include_preserved }) {
    const at = now()
    const base: DecisionFilter = given({ category })
    const { levels: counts } = await countLevels(store, base, at)
    const unpreserved: DecisionFilter = include_preserved ? {} : { preserve: false }
    const page = (filter: DecisionFilter) =>
      store.decisions.list({ filter: { ...base, ...filter }, sort: 'created_at', order: 'desc', offset: 0, limit })
    // The full level is what is pending, preserved or young: three filters, newest first over all of them.
    const parts =
      level === 'full'
        ? [
            { status: ['pending' as const], ...unpreserved },
            ofLevel('full', at),
            ...(include_preserved ? [{ status: ['reviewed' as const], preserve: true }] : []),
          ]
        : level
          ? [ofLevel(level, at)]
          : [unpreserved]
    const found = await Promise.all(parts.map(page))
    const records = found
      .flatMap((one) => one.records)
      .sort((a, b) => (a.created_at < b.created_at ? 1 : a.created_at > b.created_at ? -1 : a.id < b.id ? 1 : -1))
    return {
      decisions: records.slice(0, limit).map((record) => compacted(record, levelOf(record, at))),
      total: found.reduce((sum, { total }) => sum + total, 0),
      levels: counts,
    }
  },
})
