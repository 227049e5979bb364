/** cstp.getCalibration: how far stated confidence can be trusted. */

import * as v from 'valibot'
import { AsOf, AsOfBlock } from '../../sdk/schema/as-of.ts'
import { CalibrationReport } from '../../sdk/schema/calibration.ts'
import { nonEmptyText, Stakes } from '../../sdk/schema/decision.ts'
import { outcomeGroups, scoreSums } from '../../sdk/storage/groups.ts'
import type { DecisionFilter } from '../../sdk/storage/store.ts'
import { defineMethod, toolInput } from '../calls/method.ts'
import { lastDays } from '../core/time.ts'
import { cellKinds, cellsOf, trendDays } from '../domain/learn/calibration/cells.ts'
import { report } from '../domain/learn/calibration/report.ts'
import { verdictSums } from '../domain/learn/calibration/stored-verdict.ts'
import { agentWeeks } from '../domain/learn/calibration/weeks.ts'
import { given } from '../domain/record/decision/lookup.ts'
import { openPast } from '../domain/record/history/past.ts'

const name = (about: string) => v.optional(v.pipe(nonEmptyText(256), v.description(about)))

export const getCalibration = defineMethod({
  summary: 'Compares stated confidence with outcomes: Brier score, calibration and recommendations.',
  params: v.object({
    agent: name('Agent that recorded the decisions.'),
    category: name('Only this category.'),
    stakes: v.optional(v.pipe(Stakes, v.description('Only these stakes.'))),
    project: name('Project name.'),
    feature: name('Feature of a project.'),
    window: v.pipe(
      v.optional(v.picklist(['30d', '60d', '90d', 'all']), 'all'),
      v.description('Only decisions of the last N days: of today and N whole UTC days before it.'),
    ),
    cells: v.optional(
      v.pipe(v.picklist(cellKinds), v.description('Also returns the figures for combinations of these two fields.')),
    ),
    as_of: AsOf,
  }),
  result: v.object({ ...CalibrationReport.entries, as_of: v.optional(AsOfBlock) }),
  scope: 'read',
  effect: 'read',
  cost: 64,
  mcp: {
    name: 'get_stats',
    title: 'Get calibration',
    description:
      'How reliable is stated confidence? Brier score, over- or underconfidence, buckets and recommendations from reviewed decisions. Use before stating a confidence in an unfamiliar category.',
    input: toolInput(
      v.object({
        category: name('Only this category.'),
        project: name('Project, as owner/repo.'),
        window: v.pipe(
          v.optional(v.picklist(['30d', '60d', '90d', 'all']), 'all'),
          v.description('Only decisions of the last N days: of today and N whole UTC days before it.'),
        ),
        as_of: AsOf,
      }),
      (input) => input,
    ),
  },
  async handle(call, { window, stakes, cells, as_of, ...rest }) {
    const past = as_of === undefined ? null : await openPast(call, as_of)
    const { store, now } = past ?? call
    const created_from_ms = window === 'all' ? undefined : lastDays(now(), Number.parseInt(window, 10))
    const filter = given({ ...rest, stakes: stakes && [stakes], created_from_ms })
    const [outcomes, sums] = await Promise.all([
      outcomeGroups(store.decisions, filter),
      verdictSums(store, filter, now()),
    ])
    const from_ms = lastDays(now(), trendDays)
    const ever = { ...filter, created_from_ms: undefined }
    const scoresOf = (bounds: DecisionFilter) => scoreSums(store.decisions, given({ ...ever, ...bounds }))
    const shown =
      cells &&
      cellsOf(cells, sums, await scoresOf({ created_from_ms: from_ms }), await scoresOf({ created_to_ms: from_ms - 1 }))
    const agents = cells?.startsWith('agent_') && (await agentWeeks(store.decisions, given(ever), now()))
    return { ...report(outcomes, sums, shown), ...(agents && { agents }), ...(past && { as_of: past.block() }) }
  },
})
