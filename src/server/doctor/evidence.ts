/** The log of evidence, walked from its first record to its last. */
import { existsSync } from 'node:fs'
import { walkLog } from '../../domain/evidence/verify.ts'
import { openSqliteEvidence } from '../../drivers/evidence/sqlite.ts'
import { evidencePath } from './databases.ts'
import { type Check, error } from './finding.ts'

export const checkEvidence: Check = {
  name: 'evidence',
  async *run(settings) {
    const path = evidencePath(settings)
    if (!existsSync(path)) return
    const evidence = await openSqliteEvidence(path)
    try {
      const { flaw } = await walkLog({ evidence, breathe: () => Bun.sleep(0) })
      if (flaw !== null)
        yield error(
          `the chain of evidence is damaged: ${flaw.reason}`,
          'keep the file for those who look into it, and restore a backup: cstp restore <folder> --force',
        )
    } finally {
      await evidence.close()
    }
  },
}
