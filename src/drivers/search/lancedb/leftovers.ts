/** Removes tables that no segment needs: those that a new one replaced, and what a writer that died left behind. */
import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { type Engine, tableNames } from './library.ts'
import type { openManifest } from './manifest.ts'
import type { Place } from './place.ts'
import { tablesOf } from './write.ts'

/** @param segments by their names */
export async function drop({ connection }: Engine, segments: readonly string[]): Promise<void> {
  for (const table of segments.flatMap(tablesOf)) await connection.dropTable(table).catch(() => {})
}

/** Removes all tables with names that begin so but those of these segments. Only who holds the lease may. */
export async function sweep(
  { connection, folder }: Engine,
  prefix: string,
  segments: ReadonlySet<string>,
): Promise<void> {
  const known = new Set([...segments].flatMap(tablesOf))
  for (const name of await tableNames(connection)) {
    if (!name.startsWith(prefix) || known.has(name)) continue
    await connection.dropTable(name).catch(async () => {
      // Half a table has no version, which LanceDB refuses to drop.
      if (folder !== null) await rm(join(folder, `${name}.lance`), { recursive: true, force: true })
    })
  }
}

/** Removes what writers that died left behind, where there are no segments. False while another one may be writing, or the place can't be reached. */
export async function clear(
  { folder, absent, engine }: Pick<Place, 'folder' | 'absent' | 'engine'>,
  { take }: Pick<ReturnType<typeof openManifest>, 'take'>,
  prefix: string,
): Promise<boolean> {
  // LanceDB is loaded for what is there alone.
  const names = folder === null ? null : await readdir(folder).catch(() => [])
  if (names === null ? absent() : names.every((name) => !name.startsWith(prefix))) return true
  const opened = await engine().catch(() => null)
  const held = opened && (await take())
  if (!held) return false
  await sweep(opened, prefix, new Set()).finally(held.release)
  return true
}
