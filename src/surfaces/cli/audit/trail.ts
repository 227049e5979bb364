/** The audit trail, page by page. */
import type { Connection, Params, Result } from '../connection.ts'

export type AuditEntry = Result<'listAudit'>['entries'][number]

/** Yields the lines, newest first, up to `limit` where given. */
export async function* trail(
  connection: Connection,
  { limit, ...filter }: Omit<Params<'listAudit'>, 'cursor'>,
): AsyncGenerator<AuditEntry> {
  let left = limit ?? Number.POSITIVE_INFINITY
  let cursor: number | null = null
  while (left > 0) {
    const page: Result<'listAudit'> = await connection.call('listAudit', {
      ...filter,
      limit: Math.min(500, left),
      ...(cursor !== null && { cursor }),
    })
    yield* page.entries
    left -= page.entries.length
    cursor = page.next_cursor
    if (cursor === null) return
  }
}
