/** The resident search index over a store, as a server has it; and what a store's feed says of a term. */
import type { Search } from '../../sdk/storage/search.ts'
import type { Store } from '../../sdk/storage/store.ts'
import { type IndexSync, openIndexSync } from '../../src/domain/search/index-sync.ts'
import { openLanceSearch } from '../../src/drivers/search/lancedb/driver.ts'
import { openOwnership } from './search-ownership.ts'

/** The search driver, which keeps everything in memory and writes nothing. */
export const openMemorySearch = (): Search =>
  openLanceSearch({ url: '/nonexistent', ownership: openOwnership(), max_in_memory: Number.POSITIVE_INFINITY })

export const openIndexOf = (store: Pick<Store, 'feed'>): Promise<IndexSync> =>
  openIndexSync({ store, search: openMemorySearch(), log: () => {}, yieldToEventLoop: async () => {} })

/** How many decisions hold a term. */
export async function holdingTerm({ feed }: Pick<Store, 'feed'>, term: string): Promise<number> {
  const entries = await feed.since(0, 0, 1_000_000)
  return entries.filter(({ terms }) => terms.split(' ').includes(term)).length
}
