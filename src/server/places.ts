/** Where the settings put things: a file or an address, as the drivers take them. */
import { join } from 'node:path'
import type { Settings } from '../config.ts'

export { isPostgres } from '../config/read.ts'

/** Path of the evidence database, or its address in PostgreSQL. */
export const evidencePlace = ({
  data_dir,
  provenance_db,
  store_url,
}: Pick<Settings, 'data_dir' | 'provenance_db' | 'store_url'>): string =>
  provenance_db ?? store_url ?? join(data_dir, 'provenance.db')
