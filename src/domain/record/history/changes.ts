/** Past values that a record does not keep itself: links that were removed or replaced, and earlier values of `preserve`. */
import type { DecisionRecord, Link } from '../../../../sdk/schema/decision.ts'
import { keyedPages, newestKeyed } from '../../../../sdk/storage/keyed.ts'
import type { KeyedReader, Transaction } from '../../../../sdk/storage/store.ts'

/** Names of the collections, for moving them to another store. */
export const historyCollections = { changes: 'change', unlinked: 'unlinked' } as const
const { changes, unlinked } = historyCollections

/** A change, as the values that it replaced. */
export interface Change {
  /** RFC 3339, UTC. */
  at: string
  /** The value before. */
  preserve?: boolean
  /** The links that ended, with their indexes in the list before the change. */
  links?: { index: number; link: Link }[]
}

const prefixOf = (id: string): string => `${id} `

/** The links that a record lost. A dismissed link is not lost. */
function endedLinks(before: DecisionRecord, after: DecisionRecord): NonNullable<Change['links']> {
  const left = new Set(after.links)
  return before.links.flatMap((link, index) =>
    left.has(link) ||
    after.links.some(
      ({ target_id, edge_type, created_by, dismissed }) =>
        dismissed !== undefined &&
        target_id === link.target_id &&
        edge_type === link.edge_type &&
        created_by === link.created_by,
    )
      ? []
      : [{ index, link }],
  )
}

/** Stores the values that a change replaces, in its transaction; stores nothing if they can be read from the record. */
export async function keepChange(
  tx: Pick<Transaction, 'keyed'>,
  before: DecisionRecord,
  after: DecisionRecord,
): Promise<void> {
  const links = endedLinks(before, after)
  const isPreserve = before.preserve !== after.preserve
  if (links.length === 0 && !isPreserve) return
  const at = after.updated_at
  const change: Change = { at, ...(isPreserve && { preserve: before.preserve }), ...(links.length > 0 && { links }) }
  const keyOf = (number: number) => `${prefixOf(before.id)}${at} ${String(number).padStart(6, '0')}`
  let number = 0
  while ((await tx.keyed.get(changes, [keyOf(number)])).length > 0) number++
  await tx.keyed.put(changes, keyOf(number), change)
  for (const target of new Set(links.map(({ link }) => link.target_id)))
    await tx.keyed.put(unlinked, `${prefixOf(target)}${before.id}`, null)
}

/** The changes of a decision after a time and the last one before it, newest first. */
export async function changesAfter(keyed: Pick<KeyedReader, 'list'>, id: string, at_ms: number): Promise<Change[]> {
  const found: Change[] = []
  for await (const { value } of newestKeyed(keyed, changes, prefixOf(id))) {
    const change = value as Change
    found.push(change)
    if (Date.parse(change.at) <= at_ms) break
  }
  return found
}

/** Ids of the decisions from which a link to this one was removed. */
export async function formerSources(keyed: Pick<KeyedReader, 'list'>, id: string): Promise<string[]> {
  const prefix = prefixOf(id)
  const found: string[] = []
  for await (const page of keyedPages(keyed, unlinked, prefix))
    found.push(...page.map(({ key }) => key.slice(prefix.length)))
  return found
}
