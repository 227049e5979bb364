/** Checks that a large store does not have to keep its whole search index in memory. */
import { messageOf } from '../../core/log.ts'
import { load } from '../../drivers/search/lancedb/library.ts'
import { loadDrivers } from '../own-drivers.ts'
import { type Check, type Finding, warning } from './finding.ts'
import { vectorsOf } from './stores.ts'

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

export const checkSearch: Check = {
  name: 'search',
  files: ['store'],
  async *run(settings) {
    if ((await loadDrivers(settings.drivers)).search !== undefined) return
    const state = await vectorsOf(settings)
    if (state !== null) yield* searchFindings(state.decisions)
  },
}
