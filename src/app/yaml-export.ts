/** Exports decisions as the YAML files of the embedded store. */
import { constants } from 'node:fs'
import { mkdir, open } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { DecisionRecord } from '../../sdk/schema/decision.ts'
import { relativePath } from '../drivers/store/sqlite/files.ts'
import { recordFile } from '../drivers/store/sqlite/parse.ts'

const { O_CREAT, O_NOFOLLOW, O_TRUNC, O_WRONLY } = constants

/** Writes each decision below `<folder>/decisions`, replacing existing files. */
export async function writeYaml(folder: string, records: readonly DecisionRecord[]): Promise<void> {
  for (const record of records) {
    const path = join(folder, 'decisions', relativePath(record.id))
    await mkdir(dirname(path), { recursive: true, mode: 0o700 })
    // Don't follow a link of this name: its target may be any file.
    const file = await open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, 0o600)
    try {
      await file.writeFile(recordFile(record))
    } finally {
      await file.close()
    }
  }
}
