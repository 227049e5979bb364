/** A process that writes segments until it is killed, and says how far its index is: for tests that kill it. */
import { writeSync } from 'node:fs'
import { join } from 'node:path'
import { suiteOptions } from '../../../sdk/storage/conformance/store/records.ts'
import { manifestsOf } from '../../../src/app/search.ts'
import { openSegmentSearch } from '../../../src/drivers/search/lancedb/driver.ts'
import { openSqliteStore } from '../../../src/drivers/store/sqlite/driver.ts'
import { many, opened } from './segment-tools.ts'

const [dir = ''] = process.argv.slice(2)
const store = await openSqliteStore({ ...suiteOptions, dir })
const search = openSegmentSearch({ url: join(dir, 'search'), manifests: manifestsOf(store), tail_most: 20 })
const index = await opened(search)
writeSync(1, 'ready\n')
for (;;) {
  const at = await index.watermark()
  await index.apply(many(at, at + 10), at + 10)
  await index.maintain()
  writeSync(1, `${at + 10}\n`)
}
