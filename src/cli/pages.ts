/** Every stored decision in the order of its creation, a page at a time. */

import { CstpError } from '../../sdk/errors.ts'
import type { DecisionRecord } from '../../sdk/schema/decision.ts'
import { type Connection, connect, type Result } from './connection.ts'

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

// Full records of many ids, several asked for at once.

const width = 16

/** In the order of the ids. */
export async function fullRecords(connection: Connection, ids: readonly string[]): Promise<DecisionRecord[]> {
  const found = new Map<string, DecisionRecord>()
  const queue = [...ids]
  const hand = async () => {
    for (let id = queue.pop(); id !== undefined; id = queue.pop())
      found.set(id, await connection.call('getDecision', { id }))
  }
  await Promise.all(Array.from({ length: width }, hand))
  return ids.map((id) => found.get(id)!)
}

// Waits where a server limits the rate: for commands that send many calls.

/** A connection that sends a call again, after the time that the server names, when it was not taken for the rate alone. */
export function patient(connection: Connection, waited: (seconds: number) => void = () => {}): Connection {
  const send = async (method: string, params: unknown): Promise<unknown> => {
    for (;;) {
      try {
        return await connection.send(method, params)
      } catch (error) {
        // Such a call was refused before it was looked at: sending it again does nothing twice.
        if (!(error instanceof CstpError) || error.error !== 'rate_limited') throw error
        const seconds = Math.min(60, Math.max(1, Number(error.data?.retry_after ?? 1)))
        waited(seconds)
        await Bun.sleep(seconds * 1_000)
      }
    }
  }
  return connect(send, connection.where, connection.close)
}
