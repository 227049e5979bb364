/** Checks the thread of a data directory. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { checkSeals, sealProblem } from '../../domain/thread/seals.ts'
import { openExisting, versionOf } from '../../drivers/shared/sqlite/connect.ts'
import { statementsOf } from '../../drivers/store/sqlite/connect.ts'
import { migrations } from '../../drivers/store/sqlite/migrate.ts'
import { threadReader } from '../../drivers/store/sqlite/thread.ts'
import { type Check, error } from './finding.ts'

/** What sessions were sealed with is in the thread. */
export const checkSessions: Check = {
  name: 'sessions',
  async *run({ store_url, data_dir }) {
    const path = join(data_dir, 'cstp.db')
    if (store_url !== null || !existsSync(path)) return
    const db = openExisting(path)
    const statements = statementsOf(db)
    try {
      if (versionOf(db) !== migrations.length) return
      const thread = threadReader({
        reading: statements,
        writing: statements,
        commits: { run: () => Promise.reject() },
      })
      for await (const seal of checkSeals(thread))
        if (!seal.complete)
          yield error(
            sealProblem(seal),
            'calls of tools are missing in the thread: compare with what the client kept of the session',
          )
    } finally {
      statements.finalize()
      db.close()
    }
  },
}
