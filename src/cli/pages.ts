/** Reads all stored decisions through a connection: pages by creation time, full records, and waiting when rate limited. */
import { CstpError } from '../../sdk/errors.ts'
import type { DecisionRecord } from '../../sdk/schema/decision.ts'
import { eachAtOnce } from '../core/each.ts'
import { type Connection, connect, type Params, type Result } from './connection.ts'

const pageSize = 200

/**
 * Yields the pages of listDecisions, oldest first, with the number of stored decisions. Pages continue by time, not by position, so that a
 * decision imported meanwhile with an earlier date shifts nothing.
 */
export async function* pages(
  connection: Connection,
): AsyncGenerator<Pick<Result<'listDecisions'>, 'decisions' | 'total'>> {
  const { total } = await connection.call('listDecisions', { limit: 1 })
  let from: string | undefined
  /** Decisions at exactly this time that were already yielded. */
  let seen = new Set<string>()
  for (;;) {
    const { decisions } = await connection.call('listDecisions', {
      sort: 'created_at',
      order: 'asc',
      limit: pageSize,
      offset: seen.size,
      ...(from !== undefined && { date_from: from }),
    })
    const fresh = decisions.filter(({ id }) => !seen.has(id))
    if (fresh.length > 0) yield { decisions: fresh, total }
    if (decisions.length < pageSize) return
    const last = decisions.at(-1)!.created_at
    const same = decisions.filter(({ created_at }) => created_at === last).map(({ id }) => id)
    seen = new Set(last === from ? [...seen, ...same] : same)
    from = last
  }
}

const requestsAtOnce = 16

/** Full records, in the order of the ids. */
export async function fullRecords(connection: Connection, ids: readonly string[]): Promise<DecisionRecord[]> {
  const found = new Map<string, DecisionRecord>()
  await eachAtOnce(ids, requestsAtOnce, async (id) => {
    found.set(id, await connection.call('getDecision', { id }))
  })
  return ids.map((id) => found.get(id)!)
}

/** A connection that retries calls after the delay that the server names, if they were refused because of the rate limit. */
export function retryWhenRateLimited(
  connection: Connection,
  waiting: (seconds: number) => void = () => {},
): Connection {
  const send = async (method: string, params: unknown): Promise<unknown> => {
    for (;;) {
      try {
        return await connection.send(method, params)
      } catch (error) {
        // The call was refused before it was processed, so sending it again is safe.
        if (!(error instanceof CstpError) || error.error !== 'rate_limited') throw error
        // The agent's daily byte quota is used up: too long to wait for.
        if (error.data?.limit_bytes !== undefined) throw error
        const seconds = Math.min(60, Math.max(1, Number(error.data?.retry_after ?? 1)))
        waiting(seconds)
        await Bun.sleep(seconds * 1_000)
      }
    }
  }
  return connect(send, connection.close)
}

/** Entries of the audit trail, newest first, up to `limit` if given. */
export async function* auditEntries(
  { call }: Connection,
  { limit, ...filter }: Omit<Params<'listAudit'>, 'cursor'>,
): AsyncGenerator<Result<'listAudit'>['entries'][number]> {
  let left = limit ?? Number.POSITIVE_INFINITY
  let cursor: number | null = null
  while (left > 0) {
    const page: Result<'listAudit'> = await call('listAudit', {
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
