/** The exports of a driver module, so that a service can load it. */
import type { Embedder } from './embedder.ts'
import type { Search } from './search.ts'

/**
 * The default export of a module that `CSTP_DRIVERS` names: functions that open its drivers. Drivers read their own options. Store and
 * evidence drivers can't be replaced: backup, doctor and migration of the service know their files.
 */
export interface Drivers {
  /** Replaces the embedder that `CSTP_EMBEDDER` names. */
  embedder?(): Promise<Embedder>
  /** Replaces the search index of the service. */
  search?(): Promise<Search>
}
