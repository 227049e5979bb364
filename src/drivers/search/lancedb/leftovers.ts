/** Removes tables that no segment needs: replaced ones, and leftovers of a crashed writer. */
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

/** Removes all tables whose names have this prefix, except those of these segments. Only the holder of the lease may call it. */
export async function sweep(
  { connection, folder }: Engine,
  prefix: string,
  segments: ReadonlySet<string>,
): Promise<void> {
  const known = new Set([...segments].flatMap(tablesOf))
  for (const name of await tableNames(connection)) {
    if (!name.startsWith(prefix) || known.has(name)) continue
    await connection.dropTable(name).catch(async () => {
      // An incomplete table has no version, and LanceDB refuses to drop it.
      if (folder !== null) await rm(join(folder, `${name}.lance`), { recursive: true, force: true })
    })
  }
}

/** Removes leftovers of crashed writers from a place without segments. False while another process may be writing, or if the place is unreachable. */
export async function clear(
  { folder, absent, engine }: Pick<Place, 'folder' | 'absent' | 'engine'>,
  { take }: Pick<ReturnType<typeof openManifest>, 'take'>,
  prefix: string,
): Promise<boolean> {
  // LanceDB is loaded only if something is there.
  const names = folder === null ? null : await readdir(folder).catch(() => [])
  if (names === null ? absent() : names.every((name) => !name.startsWith(prefix))) return true
  const opened = await engine().catch(() => null)
  const held = opened && (await take())
  if (!held) return false
  await sweep(opened, prefix, new Set()).finally(held.release)
  return true
}
