/**
 * The state of the index, in a table of one row beside the table of decisions: the version of the decisions that counts, the change up to
 * which it is complete, and the statistics of its terms. Its replacement is the commit of a write; what a crashed writer added later is undone.
 */
import { creation, type Engine, tableNames } from './library.ts'
import { TermStats } from './overlay.ts'

export interface StoredState {
  /** Id of the store that the index belongs to. */
  store: string
  embedder: string
  dimensions: number
  /** Version of the table of decisions. */
  version: number
  /** The newest change that it contains. */
  watermark: number
  /** Rows that its indices do not contain yet. */
  unindexed: number
  stats: TermStats
}

export const decisionsTable = (generation: number): string => `decisions_g${generation}`
export const stateTable = (generation: number): string => `state_g${generation}`
/** The generation of a table of ours; null for any other. */
export function generationOf(table: string): number | null {
  const match = /^(?:decisions|state)_g(\d+)$/.exec(table)
  return match === null ? null : Number(match[1])
}

/** Null if there is none. */
export async function readState({ connection }: Engine, generation: number): Promise<StoredState | null> {
  const name = stateTable(generation)
  if (!(await tableNames(connection)).includes(name)) return null
  const table = await connection.openTable(name)
  const [row] = await table.query().limit(1).toArray()
  table.close()
  const { state, numbers, terms, counts } = row as Record<'state' | 'numbers' | 'terms' | 'counts', string>
  return { ...(JSON.parse(state) as Omit<StoredState, 'stats'>), stats: TermStats.fromRow({ numbers, terms, counts }) }
}

export async function writeState(
  { connection }: Engine,
  generation: number,
  { stats, ...state }: StoredState,
): Promise<void> {
  const row = { state: JSON.stringify(state), ...stats.toRow() }
  const name = stateTable(generation)
  const table = await connection.createTable(name, [row], await creation(connection, name))
  table.close()
}
