/** A process that writes a search index until it is killed, and prints how far it is: for tests that kill it. */
import { writeSync } from 'node:fs'
import { join } from 'node:path'
import { suiteOptions } from '../../../sdk/storage/conformance/store/records.ts'
import { ownershipOf } from '../../../src/app/search.ts'
import { openLanceSearch } from '../../../src/drivers/search/lancedb/driver.ts'
import { openSqliteStore } from '../../../src/drivers/store/sqlite/driver.ts'
import { many, opened } from './lancedb-tools.ts'

const [dir = ''] = process.argv.slice(2)
const url = join(dir, 'search')
const store = await openSqliteStore({ ...suiteOptions, dir })
const index = await opened(openLanceSearch({ url, ownership: ownershipOf(store, url), max_in_memory: 20 }))
writeSync(1, 'ready\n')
for (;;) {
  const at = await index.watermark()
  await index.apply(many(at, at + 10), at + 10)
  await index.maintain()
  writeSync(1, `${at + 10}\n`)
}
