/** The exports of a driver module, so that a service can load it. */
import type { Embedder } from './embedder.ts'
import type { Evidence } from './evidence.ts'
import type { Search } from './search.ts'
import type { Store, StoreOptions } from './store.ts'

/**
 * The default export of a module that `CSTP_DRIVERS` names: functions that open its drivers. Drivers read their own options. The files of a
 * store or evidence driver are unknown to the service: its commands for backup, restore and migration refuse them, and `cstp doctor` leaves
 * them out.
 */
export interface Drivers {
  /** Replaces the store of the service. */
  store?(options: StoreOptions): Promise<Store>
  /** Replaces the evidence log of the service. */
  evidence?(): Promise<Evidence>
  /** Replaces the search index of the service. */
  search?(): Promise<Search>
  /** Replaces the embedder that `CSTP_EMBEDDER` names. */
  embedder?(): Promise<Embedder>
}
