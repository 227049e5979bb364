/** The resident search index over a store, as a server has it; and what a store's feed says of a term. */
import type { Store } from '../../sdk/storage/store.ts'
import { type Follower, openFollower } from '../../src/domain/search/follower.ts'
import { openResidentSearch } from './resident.ts'

export const openIndexOf = (store: Pick<Store, 'feed' | 'embeddings'>): Promise<Follower> =>
  openFollower({ store, search: openResidentSearch(), log: () => {}, breathe: async () => {} })

/** How many decisions hold a term. */
export async function holdingTerm({ feed }: Pick<Store, 'feed'>, term: string): Promise<number> {
  const entries = await feed.since(0, 0, 1_000_000)
  return entries.filter(({ terms }) => terms.split(' ').includes(term)).length
}
