/** Search by meaning: the vectors that the settings name, kept in step with the store. */
import type { Store } from '../../sdk/storage/store.ts'
import type { Settings } from '../config.ts'
import { type Follower, openFollower } from '../domain/follower.ts'
import type { Log } from '../surfaces/log.ts'
import { openVectors } from './drivers.ts'
import { every } from './timers.ts'

/** Decisions from which an index on disk serves better than exact search in memory. */
const lanceFrom = 200_000

/** Opens it; what keeps it from serving well is logged. @param embedder id of the one that is configured */
export async function openIndex(settings: Settings, store: Store, embedder: string, log: Log): Promise<Follower> {
  const { vectors, tail } = await openVectors(settings, log)
  const breathe = () => Bun.sleep(0)
  const index = await openFollower({ store, vectors, ...(tail && { tail }), log, every, breathe }).catch(
    async (error) => {
      await vectors.close()
      throw error
    },
  )
  const made = index.generation()
  if (made && made.embedder !== embedder) {
    log('warn', 'the vectors in store were made by another embedder; semantic search waits for cstp reindex', {
      stored: made.embedder,
      configured: embedder,
    })
  }
  const { driver, count } = await index.status()
  if (driver === 'exact' && count > lanceFrom) {
    log('warn', 'LanceDB would serve so many decisions better: set CSTP_VECTOR_URL to a folder', { decisions: count })
  }
  return index
}
