/** The store drivers of the program keep the port; `docs/examples/driver/store.test.ts` runs the suite on memory. */
import { afterAll, afterEach, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { storeConformance, suiteOptions } from '../../../sdk/storage/conformance/store.ts'
import { openPostgresStore } from '../../../src/drivers/store/postgres/driver.ts'
import { openSqliteStore } from '../../../src/drivers/store/sqlite/driver.ts'
import { postgres, whyNoPostgres } from '../../support/postgres.ts'
import { emptySchema, laidBack } from '../../support/schemas.ts'

setDefaultTimeout(120_000)

const root = mkdtempSync(join(tmpdir(), 'cstp-store-'))
afterAll(() => rmSync(root, { recursive: true, force: true }))

storeConformance(
  { describe, test, expect },
  { name: 'sqlite', open: (place) => openSqliteStore({ ...suiteOptions, dir: join(root, place) }), shared: true },
)

const server = postgres()
if (server === null) test.skip(`store: postgres (${whyNoPostgres})`, () => {})
else {
  const places = new Map<string, Promise<string>>()
  const schemaOf = (place: string): Promise<string> => {
    const known = places.get(place) ?? emptySchema(server)
    places.set(place, known)
    return known
  }
  afterEach(async () => {
    for (const url of await Promise.all(places.values())) laidBack(url)
    places.clear()
  })
  storeConformance(
    { describe, test, expect },
    {
      name: 'postgres',
      open: async (place) => openPostgresStore({ ...suiteOptions, url: await schemaOf(place), connections: 4 }),
      shared: true,
    },
  )
}
