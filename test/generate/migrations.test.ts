/** The schema of each driver, its generated SQL and its snapshot agree, and the program knows every file. */
import { describe, expect, test } from 'bun:test'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { folderOf, groups, migrationOf, storedSnapshot } from '../../src/generate/migrations.ts'

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

  test('the only migration is what schema.ts generates', async () => {
    const { sql } = await migrationOf(group, null)
    expect(files.filter((name) => name.endsWith('_tables.sql')).map(textOf)).toEqual([sql])
  })
})
