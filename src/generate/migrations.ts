/**
 * Writes the next migration of each group of tables whose `schema.ts` has changed: `bun run migrations`. What Drizzle can't express
 * (triggers, functions, storage parameters) is written by hand in a file of the same number.
 */
import { existsSync, readdirSync } from 'node:fs'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { getTableName, is } from 'drizzle-orm'
import { SQLiteTable } from 'drizzle-orm/sqlite-core'

const drivers = join(import.meta.dir, '../drivers')

/** Folders of drivers, each with a `schema.ts` and a folder `migrations`. */
export const groups = ['store/sqlite', 'store/postgres', 'evidence/sqlite', 'evidence/postgres'] as const
type Group = (typeof groups)[number]
export const folderOf = (group: Group): string => join(drivers, group, 'migrations')

/** The form of a schema that drizzle-kit compares. */
interface Snapshot {
  id: string
  tables: Record<string, unknown>
}

/** The statements that migrate a snapshot to the current `schema.ts`, and the new snapshot. */
export async function migrationOf(group: Group, from: Snapshot | null): Promise<{ sql: string; snapshot: Snapshot }> {
  // Loaded only here: it is large, and only developers have it.
  const kit = await import('drizzle-kit/api')
  const schema: Record<string, unknown> = await import(join(drivers, group, 'schema.ts'))
  const isSqlite = group.endsWith('sqlite')
  const snapshotOf = async (tables: Record<string, unknown>) => {
    const made = isSqlite ? await kit.generateSQLiteDrizzleJson(tables) : kit.generateDrizzleJson(tables)
    return { ...made, id: '', prevId: '' } as unknown as Snapshot
  }
  const [before, after] = [from ?? (await snapshotOf({})), await snapshotOf(schema)]
  const generate = isSqlite ? kit.generateSQLiteMigration : kit.generateMigration
  const statements = await generate(before as never, after as never)
  const rowless = Array.isArray(schema.without_rowid) ? schema.without_rowid.filter((one) => is(one, SQLiteTable)) : []
  const names = rowless.map((table) => `CREATE TABLE \`${getTableName(table)}\` (`)
  const withOptions = statements.map((one) =>
    names.some((name) => one.startsWith(name)) ? one.trimEnd().replace(/;$/, ' WITHOUT ROWID;') : one.trimEnd(),
  )
  return { sql: withOptions.map((one) => `${one}\n`).join(''), snapshot: after }
}

/** Snapshot of the latest migration; null if there is none. */
export async function storedSnapshot(group: Group): Promise<Snapshot | null> {
  const path = join(folderOf(group), 'snapshot.json')
  return existsSync(path) ? JSON.parse(await readFile(path, 'utf8')) : null
}

/** One line for each table, so that diffs show which table changed. */
function textOf({ tables, ...rest }: Snapshot): string {
  const lines = Object.entries(tables).map(([name, table]) => `${JSON.stringify(name)}:${JSON.stringify(table)}`)
  return `{"tables":{\n${lines.join(',\n')}\n},${JSON.stringify(rest).slice(1)}\n`
}

if (import.meta.main)
  for (const group of groups) {
    const folder = folderOf(group)
    const before = await storedSnapshot(group)
    const { sql, snapshot } = await migrationOf(group, before)
    if (sql === '') continue
    await mkdir(folder, { recursive: true })
    const last = before === null ? -1 : Math.max(...readdirSync(folder).map((name) => Number.parseInt(name, 10) || 0))
    const name = `${String(last + 1).padStart(4, '0')}_tables.sql`
    await writeFile(join(folder, name), sql)
    await writeFile(join(folder, 'snapshot.json'), textOf(snapshot))
    console.log(`${join(folder, name)}: name it in migrate.ts beside it`)
  }
