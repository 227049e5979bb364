/** Every stored decision in the order of its creation, a page at a time. */
import type { Connection, Result } from './connection.ts'

const size = 200

/**
 * Yields what listDecisions tells, with the number of those in store. Pages go by time, not by position: a decision that is taken in
 * meanwhile with an earlier date shifts nothing.
 */
export async function* pages(
  connection: Connection,
): AsyncGenerator<Pick<Result<'listDecisions'>, 'decisions' | 'total'>> {
  const { total } = await connection.call('listDecisions', { limit: 1 })
  let from: string | undefined
  /** Those at exactly this time that were seen already. */
  let seen = new Set<string>()
  for (;;) {
    const { decisions } = await connection.call('listDecisions', {
      sort: 'created_at',
      order: 'asc',
      limit: size,
      offset: seen.size,
      ...(from !== undefined && { date_from: from }),
    })
    const fresh = decisions.filter(({ id }) => !seen.has(id))
    if (fresh.length > 0) yield { decisions: fresh, total }
    if (decisions.length < size) return
    const last = decisions.at(-1)!.created_at
    const same = decisions.filter(({ created_at }) => created_at === last).map(({ id }) => id)
    seen = new Set(last === from ? [...seen, ...same] : same)
    from = last
  }
}
