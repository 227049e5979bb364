/** cstp.getCalibration: how far stated confidence can be trusted. */

import * as v from 'valibot'
import { CalibrationReport } from '../../sdk/schema/calibration.ts'
import { filledText, Stakes } from '../../sdk/schema/decision.ts'
import { defineMethod, toolInput } from '../calls/method.ts'
import { dayMs } from '../core/time.ts'
import { cellKinds, cellsOf, trendDays } from '../domain/calibration/cells.ts'
import { report } from '../domain/calibration/report.ts'
import { given } from '../domain/decision/lookup.ts'

const name = (about: string) => v.optional(v.pipe(filledText(256), v.description(about)))

export const getCalibration = defineMethod({
  summary: 'Compares stated confidence with what came true: Brier score, calibration, and what to do about it.',
  params: v.object({
    agent: name('Agent that recorded the decisions.'),
    category: name('Exactly this category.'),
    stakes: v.optional(v.pipe(Stakes, v.description('Exactly these stakes.'))),
    project: name('Project name.'),
    feature: name('Feature of a project.'),
    window: v.pipe(
      v.optional(v.picklist(['30d', '60d', '90d', 'all']), 'all'),
      v.description('Decisions recorded within so many days.'),
    ),
    cells: v.optional(v.pipe(v.picklist(cellKinds), v.description('Also returns the figures by these two.'))),
  }),
  result: CalibrationReport,
  scope: 'read',
  effect: 'read',
  mcp: {
    name: 'get_stats',
    title: 'Get calibration',
    description:
      'How far can stated confidence be trusted? Brier score, over- or underconfidence, buckets and advice from reviewed decisions. Ask before you state a confidence in a category you know little about.',
    input: toolInput(
      v.object({
        category: name('Exactly this category.'),
        project: name('Project, as owner/repo.'),
        window: v.pipe(
          v.optional(v.picklist(['30d', '60d', '90d', 'all']), 'all'),
          v.description('Decisions recorded within so many days.'),
        ),
      }),
      (input) => input,
    ),
  },
  failure: 'internal_error',
  async handle({ store, now }, { window, stakes, cells, ...rest }) {
    const created_from_ms = window === 'all' ? undefined : now() - Number.parseInt(window, 10) * dayMs
    const filter = given({ ...rest, stakes: stakes && [stakes], created_from_ms })
    const [outcomes, sums] = await Promise.all([store.decisions.outcomes(filter), store.decisions.scores(filter)])
    if (cells === undefined) return report(outcomes, sums)
    const from_ms = now() - trendDays * dayMs
    const ever = { ...filter, created_from_ms: undefined }
    const recent = await store.decisions.scores(given({ ...ever, created_from_ms: from_ms }))
    const earlier = await store.decisions.scores(given({ ...ever, created_to_ms: from_ms - 1 }))
    return report(outcomes, sums, cellsOf(cells, sums, recent, earlier))
  },
})
