/** What a module of drivers exports, so that a service can load it. */
import type { Embedder } from './embedder.ts'
import type { Search } from './search.ts'

/**
 * The default export of a module that `CSTP_DRIVERS` names: how its drivers are opened. They read their own options. Records and evidence
 * stay with the drivers of the service, whose files its backup, doctor and migration know.
 */
export interface Drivers {
  /** Takes the place of the embedder that `CSTP_EMBEDDER` names. */
  embedder?(): Promise<Embedder>
  /** Takes the place of the search index of the service. */
  search?(): Promise<Search>
}
