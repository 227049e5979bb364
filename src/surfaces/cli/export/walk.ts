/** Every stored decision in the order of its creation, a page at a time. */
import type { DecisionRecord } from '../../../../sdk/schema/decision.ts'
import type { Connection } from '../connection.ts'

const page = 200
/** Records asked for at once. */
const width = 16

async function records(connection: Connection, ids: readonly string[]): Promise<DecisionRecord[]> {
  const found = new Map<string, DecisionRecord>()
  const queue = [...ids]
  const hand = async () => {
    for (let id = queue.pop(); id !== undefined; id = queue.pop())
      found.set(id, await connection.call('getDecision', { id }))
  }
  await Promise.all(Array.from({ length: width }, hand))
  return ids.map((id) => found.get(id)!)
}

/**
 * Yields full records with the number of those in store. Pages go by time, not by position: a decision that is taken in meanwhile with an
 * earlier date shifts nothing.
 */
export async function* walk(connection: Connection): AsyncGenerator<{ records: DecisionRecord[]; total: number }> {
  const { total } = await connection.call('listDecisions', { limit: 1 })
  let from: string | undefined
  /** Those at exactly this time that were seen already. */
  let seen = new Set<string>()
  for (;;) {
    const { decisions } = await connection.call('listDecisions', {
      sort: 'created_at',
      order: 'asc',
      limit: page,
      offset: seen.size,
      ...(from !== undefined && { date_from: from }),
    })
    const fresh = decisions.filter(({ id }) => !seen.has(id))
    // The list leaves out the deliberation.
    if (fresh.length > 0)
      yield {
        records: await records(
          connection,
          fresh.map(({ id }) => id),
        ),
        total,
      }
    if (decisions.length < page) return
    const last = decisions.at(-1)!.created_at
    const same = decisions.filter(({ created_at }) => created_at === last).map(({ id }) => id)
    seen = last === from ? new Set([...seen, ...same]) : new Set(same)
    from = last
  }
}
