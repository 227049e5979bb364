/** The driver of segments keeps the port in an object store too. */
import { afterAll, describe, setDefaultTimeout, test } from 'bun:test'
import { testSearch } from '../../../sdk/storage/conformance/search.ts'
import { openSegmentSearch } from '../../../src/drivers/search/lancedb/driver.ts'
import { openManifests } from '../../support/manifests.ts'
import { serveS3 } from '../../support/s3-server.ts'
import { settled } from './segment-tools.ts'

setDefaultTimeout(120_000)

const s3 = serveS3()
afterAll(() => s3.close())
const manifests = openManifests()

testSearch(
  { describe, test },
  {
    name: 'segments (object store)',
    open: async (place) =>
      settled(
        openSegmentSearch({
          url: `s3://bucket/${place}`,
          storage_options: s3.storage_options,
          manifests,
          tail_most: 7,
        }),
      ),
  },
)
