/** Exports decisions as the YAML files of the embedded store. */
import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { DecisionRecord } from '../../sdk/schema/decision.ts'
import { relativePath } from '../drivers/store/sqlite/files.ts'
import { yamlOf } from '../drivers/store/sqlite/yaml.ts'

/** Writes each below `<folder>/decisions`; an existing file is replaced. */
export async function writeYaml(folder: string, records: readonly DecisionRecord[]): Promise<void> {
  for (const record of records) {
    const path = join(folder, 'decisions', relativePath(record.id))
    await mkdir(dirname(path), { recursive: true, mode: 0o700 })
    await writeFile(path, yamlOf(record), { mode: 0o600 })
  }
}
