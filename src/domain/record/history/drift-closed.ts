/** Findings of drift that somebody closed: from then on, the agent or the category is compared only with what it did since. */
import type { KeyedReader } from '../../../../sdk/storage/keyed.ts'
import type { DecisionFilter, Store, Transaction } from '../../../../sdk/storage/store.ts'

/** Name of the collection, for moving it to another store. */
export const driftClosedCollection = 'drift_closed'

/** What drift is watched by. */
export type Watched = 'agent' | 'category'

interface Closed {
  /** UTC days, ascending. */
  days: string[]
}

/** More are not kept: the oldest has no effect once a later one is known. */
const most = 100
const listed = 10_000

const keyOf = (by: Watched, name: string): string => `${by}:${name}`
const daysOf = async (keyed: Pick<KeyedReader, 'get'>, by: Watched, name: string) => {
  const [row] = await keyed.get(driftClosedCollection, [keyOf(by, name)])
  return { version: row?.version ?? 0, days: (row?.value as Closed | undefined)?.days ?? [] }
}

/** The days on which findings were closed, by name. */
export async function closings({ keyed }: Pick<Store, 'keyed'>, by: Watched): Promise<Map<string, string[]>> {
  const prefix = keyOf(by, '')
  const rows = await keyed.list(driftClosedCollection, { prefix, limit: listed })
  return new Map(rows.map(({ key, value }) => [key.slice(prefix.length), (value as Closed).days]))
}

/** The days on which findings about what the filter names were closed. */
export async function closedDays({ keyed }: Pick<Store, 'keyed'>, filter: DecisionFilter): Promise<string[]> {
  const [agent, category] = await Promise.all(
    (['agent', 'category'] as const).map((by) => {
      const name = filter[by]
      return typeof name === 'string' ? daysOf(keyed, by, name).then(({ days }) => days) : []
    }),
  )
  return [...agent!, ...category!]
}

/** Closes the finding about an agent or a category as of this day. */
export async function closeFinding(
  tx: Pick<Transaction, 'keyed'>,
  by: Watched,
  name: string,
  day: string,
): Promise<void> {
  const { days, version } = await daysOf(tx.keyed, by, name)
  const next: Closed = { days: [...new Set([...days, day])].slice(-most) }
  await tx.keyed.put(driftClosedCollection, keyOf(by, name), next, { version })
}
