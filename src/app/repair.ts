/** Puts back what a data folder lost, from what it still has. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { writeLostFiles } from '../drivers/store/sqlite/repair.ts'
import type { Settings } from './config/config.ts'
import { refuseForeignFiles } from './own-drivers.ts'

/** Writes the files of decisions that have none. @returns their number @throws Error if there is no database, ConfigError for a foreign store */
export async function repairFiles(settings: Settings): Promise<number> {
  await refuseForeignFiles(settings, "can't write them again")
  const path = join(settings.data_dir, 'cstp.db')
  if (!existsSync(path)) throw new Error(`${path} is missing: decisions/ can only be written from it`)
  return writeLostFiles(settings.data_dir)
}
