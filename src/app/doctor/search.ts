/** Checks that a large store need not keep its whole search index in memory, and that what is kept on disk is what the store says. */
import type { Feed } from '../../../sdk/storage/store.ts'
import { messageOf } from '../../core/log.ts'
import { entryOf } from '../../domain/search/generation-sync.ts'
import { noVectors } from '../../domain/search/index-sync.ts'
import { load } from '../../drivers/search/lancedb/library.ts'
import { openPlace } from '../../drivers/search/lancedb/place.ts'
import { readState } from '../../drivers/search/lancedb/state.ts'
import type { Settings } from '../config/config.ts'
import { loadDrivers } from '../own-drivers.ts'
import { searchLocation, storeId } from '../search.ts'
import { type Check, error, type Finding, note, warning } from './finding.ts'
import { differences, type Told } from './search-table.ts'
import { again, vectorsOf } from './stores.ts'
import { openReads } from './thread.ts'

/** Above this number of decisions the index uses a table on disk, provided that LanceDB can be loaded. */
const outgrown = 20_000

/** @param library loads LanceDB */
export async function* searchFindings(
  decisions: number,
  library: () => Promise<unknown> = load,
): AsyncGenerator<Finding> {
  if (decisions <= outgrown) return
  const missing = await library().then(
    () => null,
    (thrown) => messageOf(thrown),
  )
  if (missing !== null)
    yield warning(
      `all ${decisions} decisions are searched in memory: ${missing}`,
      'install the npm package or the full binary, which keep most of them on disk',
    )
}

/** Entries of the feed that are read at once. */
const page = 500
/** Differences after which the check stops. */
const mostDifferences = 10

async function* changesOf(feed: Feed, generation: number): AsyncGenerator<Told[]> {
  for (let after = 0, isFull = true; isFull; ) {
    const found = await feed.since(after, generation, page)
    yield found.map((entry) => ({ ...entryOf(entry), seq: entry.seq }))
    isFull = found.length === page
    after = found.at(-1)?.seq ?? after
  }
}

/** Compares the table on disk with the store; an index in memory is made from the store at each start. */
async function* tableFindings(settings: Settings): AsyncGenerator<Finding> {
  const url = searchLocation(settings)
  const reads = await openReads(settings)
  if (reads === null) return
  try {
    const { feed, keyed } = reads
    const place = openPlace({ url, ownership: { store: () => storeId(keyed), lease: async () => null } })
    if (place.isEmpty()) return
    const { number } = (await feed.head()).active ?? noVectors
    const engine = await place.engine().catch((thrown) => {
      // Without LanceDB no search reads it.
      if (place.absent()) return null
      throw thrown
    })
    if (engine === null) return
    const state = await readState(engine, number)
    // That of another store is made again at the next start, or refuses it.
    if (state === null || state.store !== (await place.ownership.store())) return
    let found = 0
    try {
      for await (const what of differences(engine, number, state, changesOf(feed, number))) {
        yield error(`the search index ${what}: ${url} was changed by hand`, again)
        if (++found === mostDifferences) return
      }
    } catch (thrown) {
      const later = await readState(engine, number).catch(() => null)
      yield later !== null && later.version !== state.version
        ? note('the search index was written while it was read', 'cstp doctor once more')
        : error(`the search index can't be read: ${messageOf(thrown)}`, again)
    }
  } finally {
    await reads.close()
  }
}

export const checkSearch: Check = {
  name: 'search',
  files: ['store'],
  async *run(settings) {
    if ((await loadDrivers(settings.drivers)).search !== undefined) return
    const state = await vectorsOf(settings)
    if (state === null) return
    yield* searchFindings(state.decisions)
    yield* tableFindings(settings)
  },
}
