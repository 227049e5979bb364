/** Locks on the database that SQLite counts on: no file of ours that is closed takes them away. */
import { expect, setDefaultTimeout, test } from 'bun:test'
import { existsSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { createAll, recordOf } from '../../../sdk/storage/conformance/store/records.ts'
import { freshDir, openAt } from './sqlite-tools.ts'

setDefaultTimeout(120_000)

const list = '/proc/locks'

// Another process that closes the database would take a log for its own that is still written to.
test.skipIf(!existsSync(list))('the database stays locked while the erased text is searched for', async () => {
  const dir = freshDir()
  const store = await openAt(dir)
  const { ino } = statSync(join(dir, 'cstp.db'))
  const locks = () =>
    readFileSync(list, 'utf8')
      .split('\n')
      .filter((line) => line.includes(` ${process.pid} `) && line.includes(`:${ino} `)).length
  await createAll(store, [recordOf(1)])
  const before = locks()
  expect(before).toBeGreaterThan(0)
  expect(await store.scrub()).toEqual([])
  expect(locks()).toBe(before)
  await store.close()
})
