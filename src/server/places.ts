/** Where the settings put things: a file or an address, as the drivers take them. */
import { join, resolve } from 'node:path'
import type { Settings } from '../config.ts'

export { isPostgres } from '../config/read.ts'

/** Path of the evidence database, or its address in PostgreSQL. */
export const evidencePlace = ({
  data_dir,
  provenance_db,
  store_url,
}: Pick<Settings, 'data_dir' | 'provenance_db' | 'store_url'>): string =>
  provenance_db ?? store_url ?? join(data_dir, 'provenance.db')

/** The folder below which bundles are written, as a full path. */
export const bundlesPlace = ({ bundle_dir, data_dir }: Pick<Settings, 'bundle_dir' | 'data_dir'>): string =>
  resolve(bundle_dir ?? join(data_dir, 'bundles'))
