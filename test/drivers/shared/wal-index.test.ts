/** Files beside a database, by the descriptors of SQLite. */
import { expect, test } from 'bun:test'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connectWriter, openExisting } from '../../../src/drivers/shared/sqlite/connect.ts'
import { descriptorOf, descriptorsOf } from '../../../src/drivers/shared/sqlite/wal-index.ts'

test.skipIf(!existsSync('/dev/fd'))('each connection holds its database by a descriptor of its own', () => {
  const dir = mkdtempSync(join(tmpdir(), 'cstp-held-'))
  const path = join(dir, 'a.db')
  expect([descriptorOf(path), descriptorsOf(path)]).toEqual([null, []])
  const writer = connectWriter(path, () => {})
  const first = descriptorsOf(path)
  expect([first.length, descriptorOf(path)]).toEqual([1, first[0]!])
  // Before anything is read.
  const other = openExisting(path)
  expect([descriptorsOf(path).length, descriptorsOf(path).includes(first[0]!)]).toEqual([2, true])
  other.close()
  expect(descriptorsOf(path)).toEqual(first)
  writer.close()
  rmSync(dir, { recursive: true })
})
