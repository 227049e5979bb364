/** Full records of many ids, several asked for at once. */
import type { DecisionRecord } from '../../../../sdk/schema/decision.ts'
import type { Connection } from '../connection.ts'

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
