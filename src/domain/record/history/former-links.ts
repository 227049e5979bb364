/** Which decisions had a link to a decision that they have no more, so that the links of an earlier time are found from their ends. */
import type { DecisionRecord } from '../../../../sdk/schema/decision.ts'
import { keyedPages } from '../../../../sdk/storage/keyed.ts'
import type { KeyedReader, Transaction } from '../../../../sdk/storage/store.ts'

/** Name of the collection, for moving it to another store. */
export const formerLinkCollection = 'unlinked'

const prefixOf = (id: string): string => `${id} `

/** Notes the decisions to which a record has no link any more, in the transaction of its change. */
export async function noteFormerLinks(
  tx: Pick<Transaction, 'keyed'>,
  before: DecisionRecord,
  after: DecisionRecord,
): Promise<void> {
  const left = new Set(after.links.map(({ target_id }) => target_id))
  for (const target of new Set(before.links.map(({ target_id }) => target_id)))
    if (!left.has(target)) await tx.keyed.put(formerLinkCollection, `${prefixOf(target)}${before.id}`, null)
}

/** Ids of the decisions that had a link to this one. */
export async function formerSources(keyed: Pick<KeyedReader, 'list'>, id: string): Promise<string[]> {
  const prefix = prefixOf(id)
  const found: string[] = []
  for await (const page of keyedPages(keyed, formerLinkCollection, prefix))
    found.push(...page.map(({ key }) => key.slice(prefix.length)))
  return found
}
