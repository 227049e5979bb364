/** The results of writes that may be sent again, one after the other: for moving them to another store. */
import { join } from 'node:path'
import type { IdempotentResult } from '../../../../sdk/storage/store.ts'
import { openExisting } from '../../shared/sqlite/connect.ts'

type KeptResult = IdempotentResult & { agent: string; key: string; expires_ms: number }

/** Those that have not expired, a page at a time. */
export async function* keptResults(dir: string, now_ms: number): AsyncGenerator<KeptResult[]> {
  const db = openExisting(join(dir, 'cstp.db'))
  try {
    const page = db.query<Omit<KeptResult, 'result'> & { result: string }, [string, string, number]>(
      `select agent, key, digest, result, expires_ms from idempotency
       where (agent, key) > (?, ?) and expires_ms > ? order by agent, key limit 500`,
    )
    for (let after: [string, string] = ['', '']; ; ) {
      const rows = page.all(...after, now_ms)
      if (rows.length === 0) return
      after = [rows.at(-1)!.agent, rows.at(-1)!.key]
      yield rows.map((row) => ({ ...row, result: JSON.parse(row.result) }))
    }
  } finally {
    db.close()
  }
}
