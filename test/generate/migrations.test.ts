/** The schema of each driver, its generated SQL and its snapshot agree, and the program knows every file. */
import { Database } from 'bun:sqlite'
import { describe, expect, test } from 'bun:test'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { folderOf, groups, migrationOf, storedSnapshot } from '../../src/generate/migrations.ts'

/** Tables and indexes that these files make. */
function sqliteTables(files: readonly string[]): unknown[] {
  const db = new Database()
  for (const text of files) db.run(text)
  return db.query('select name, sql from sqlite_master order by name').all()
}

describe.each(groups)('migrations of %s', (group) => {
  const folder = folderOf(group)
  const files = readdirSync(folder)
    .filter((name) => name.endsWith('.sql'))
    .sort()
  const textOf = (name: string) => readFileSync(join(folder, name), 'utf8')

  test('the snapshot is that of schema.ts', async () => {
    const stored = await storedSnapshot(group)
    const { sql, snapshot } = await migrationOf(group, stored)
    expect(sql).toBe('')
    expect(stored).toEqual(snapshot)
  })

  test('the files of each number are one version of the tables, in order', async () => {
    const { migrations } = (await import(join(folder, '../migrate.ts'))) as { migrations: readonly string[] }
    const byNumber = Map.groupBy(files, (name) => Number.parseInt(name, 10))
    expect([...byNumber.keys()]).toEqual(migrations.map((_, number) => number))
    expect([...byNumber.values()].map((names) => names.map(textOf).join(''))).toEqual([...migrations])
  })

  test('all of them together make what schema.ts generates', async () => {
    const { sql } = await migrationOf(group, null)
    const all = files.filter((name) => name.endsWith('_tables.sql')).map(textOf)
    if (all.length === 1) expect(all).toEqual([sql])
    else expect(sqliteTables(all)).toEqual(sqliteTables([sql]))
  })
})
