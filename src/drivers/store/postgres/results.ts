/** The results of writes that may be sent again, one after the other: for moving them to another store. */
import type { IdempotentResult } from '../../../../sdk/storage/store.ts'
import { connect, storageErrorOf } from '../../shared/postgres/client.ts'
import { fromText } from '../../shared/postgres/filter.ts'

export type KeptResult = IdempotentResult & { agent: string; key: string; expires_ms: number }

/** Those that have not expired, a page at a time. @throws StorageError */
export async function* keptResults(url: string, now_ms: number): AsyncGenerator<KeptResult[]> {
  const client = await connect({ url, connections: 1, statement_timeout_ms: 60_000 })
  try {
    for (let after = ['', '']; ; ) {
      const rows = await client.read<Omit<KeptResult, 'result'> & { result: string }>(
        `select agent, key, digest, result::text as result, expires_ms from idempotency
         where (agent, key) > ($1::text, $2::text) and expires_ms > $3::float8 order by agent, key limit 500`,
        [...after, now_ms],
      )
      if (rows.length === 0) return
      const last = rows.at(-1)!
      after = [last.agent, last.key]
      yield rows.map((row) => ({
        ...row,
        agent: fromText(row.agent),
        key: fromText(row.key),
        result: JSON.parse(row.result),
      }))
    }
  } catch (error) {
    throw storageErrorOf(error, 'cannot read')
  } finally {
    await client.close()
  }
}
