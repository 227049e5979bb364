/** The resident search index over a store, as a server has it; and what a store's feed says of a term. */
import type { Store } from '../../sdk/storage/store.ts'
import { type IndexSync, openIndexSync } from '../../src/domain/search/index-sync.ts'
import { openMemorySearch } from '../../src/drivers/search/memory/driver.ts'

export const openIndexOf = (store: Pick<Store, 'feed'>): Promise<IndexSync> =>
  openIndexSync({ store, search: openMemorySearch(), log: () => {}, yieldToEventLoop: async () => {} })

/** How many decisions hold a term. */
export async function holdingTerm({ feed }: Pick<Store, 'feed'>, term: string): Promise<number> {
  const entries = await feed.since(0, 0, 1_000_000)
  return entries.filter(({ terms }) => terms.split(' ').includes(term)).length
}
