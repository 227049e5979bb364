/** The log of evidence, walked from its first record to its last. */
import { existsSync } from 'node:fs'
import { walkLog } from '../../domain/evidence/verify.ts'
import { firstUnfound } from '../../drivers/evidence/sqlite/unfound.ts'
import { openSqliteEvidence } from '../../drivers/evidence/sqlite.ts'
import { evidencePlace, isPostgres } from '../places.ts'
import { type Check, error } from './finding.ts'

const restore = 'keep the file for those who look into it, and restore a backup: cstp restore <folder> --force'

/** The log where there is one; nothing is made. */
async function openReader(place: string) {
  if (isPostgres(place)) {
    const { openPostgresEvidenceReader } = await import('../../drivers/evidence/postgres.ts')
    return openPostgresEvidenceReader(place)
  }
  return existsSync(place) ? openSqliteEvidence(place) : null
}

export const checkEvidence: Check = {
  name: 'evidence',
  async *run(settings) {
    const place = evidencePlace(settings)
    const evidence = await openReader(place)
    if (evidence === null) return
    try {
      const { flaw } = await walkLog({ evidence, breathe: () => Bun.sleep(0) })
      if (flaw !== null)
        yield error(
          `the chain of evidence is damaged: ${flaw.reason}`,
          isPostgres(place)
            ? 'dump the database for those who look into it, and restore a backup with pg_restore'
            : restore,
        )
      const unfound = flaw !== null || isPostgres(place) ? null : firstUnfound(place)
      if (unfound !== null)
        yield error(
          `record ${unfound} of the evidence is not found by its pull request or delivery: later counts of approvals would leave it out`,
          restore,
        )
    } finally {
      await evidence.close()
    }
  },
}
