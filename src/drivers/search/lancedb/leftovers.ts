/** Removes tables that no segment needs: those that a new one replaced, and what a writer that died left behind. */
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { type Engine, tableNames } from './library.ts'
import { tablesOf } from './write.ts'

/** @param segments by their names */
export async function drop({ connection }: Engine, segments: readonly string[]): Promise<void> {
  for (const table of segments.flatMap(tablesOf)) await connection.dropTable(table).catch(() => {})
}

/** Removes all tables with names that begin so but those of these segments. Only who holds the lease may. */
export async function sweep(
  { connection, folder }: Engine,
  prefix: string,
  segments: readonly string[],
): Promise<void> {
  const known = new Set(segments.flatMap(tablesOf))
  for (const name of await tableNames(connection)) {
    if (!name.startsWith(prefix) || known.has(name)) continue
    await connection.dropTable(name).catch(async () => {
      // Half a table has no version, which LanceDB refuses to drop.
      if (folder !== null) await rm(join(folder, `${name}.lance`), { recursive: true, force: true })
    })
  }
}
