/** Every search driver keeps the port: in memory, with a table in a folder, and with a table in an object store. */
import { afterAll, describe, setDefaultTimeout, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { testSearch } from '../../../sdk/storage/conformance/search.ts'
import { openLanceSearch } from '../../../src/drivers/search/lancedb/driver.ts'
import { serveS3 } from '../../support/s3-server.ts'
import { openOwnership } from '../../support/search-ownership.ts'
import { writtenAtOnce } from './lancedb-tools.ts'

setDefaultTimeout(120_000)

const folder = mkdtempSync(join(tmpdir(), 'cstp-search-'))
const s3 = serveS3()
afterAll(() => {
  rmSync(folder, { recursive: true, force: true })
  s3.close()
})
const runner = { describe, test }
const ownership = openOwnership()
const lance = (suite: string, max_in_memory: number) => async (place: string) =>
  openLanceSearch({ url: join(folder, suite, place), ownership, max_in_memory, index_from: 300 })

testSearch(runner, { name: 'lancedb, all in memory', open: lance('memory', 20_000) })
testSearch(runner, {
  name: 'lancedb, nothing in memory',
  open: async (place) => writtenAtOnce(await lance('none', 1)(place)),
})
testSearch(runner, {
  name: 'lancedb in an object store, newest in memory',
  open: async (place) =>
    writtenAtOnce(
      openLanceSearch({
        url: `s3://bucket/${place}`,
        storage_options: s3.storage_options,
        ownership,
        max_in_memory: 7,
        index_from: 300,
      }),
    ),
})
