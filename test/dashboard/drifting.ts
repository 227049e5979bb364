/** Decisions of the past year for the dashboard to show: an agent that got worse in the last four months. */

import { analyse } from '../../src/domain/search/terms.ts'
import { openSqliteStore } from '../../src/drivers/store/sqlite/driver.ts'
import { recordOf } from '../support/record.ts'

const dayMs = 86_400_000
const weeks = 60
const badFrom = 44
export const drifter = 'releaser'

/** Writes them into the data directory of a server that does not run yet; four a week, each reviewed three days later. */
export async function seedDrift(dir: string): Promise<void> {
  const store = await openSqliteStore({ dir, analyse, now: Date.now })
  const start = Date.now() - weeks * 7 * dayMs
  await store.transaction(async (tx) => {
    for (let number = 0; number < 4 * (weeks - 1); number++) {
      const week = Math.floor(number / 4)
      const created_ms = start + week * 7 * dayMs + (number % 4) * dayMs
      const created_at = new Date(created_ms).toISOString()
      const failed = number % (week < badFrom ? 6 : 2) === 0
      const confidence = 0.7 + 0.05 * (number % 5)
      await tx.decisions.put(
        recordOf({
          id: `${created_at.slice(0, 10)}-decision-${number.toString(16).padStart(12, '0')}`,
          decision: `Release build ${number} to everybody`,
          category: 'release',
          confidence,
          created_at,
          recorded_by: drifter,
          status: 'reviewed',
          outcome: failed ? 'failure' : 'success',
          reviewed_at: new Date(created_ms + 3 * dayMs).toISOString(),
          reviewed_by: drifter,
          confidence_at_review: confidence,
        }),
        0,
      )
    }
  })
  await store.close()
}
