/** Every store driver keeps the port. */
import { afterAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { storeConformance, suiteOptions } from '../../sdk/storage/conformance/store.ts'
import { openMemoryStore } from '../../src/drivers/store/memory.ts'
import { openSqliteStore } from '../../src/drivers/store/sqlite.ts'

setDefaultTimeout(60_000)

const root = mkdtempSync(join(tmpdir(), 'cstp-store-'))
afterAll(() => rmSync(root, { recursive: true, force: true }))

storeConformance(
  { describe, test, expect },
  { name: 'memory', open: async () => openMemoryStore(suiteOptions), shared: false },
)
storeConformance(
  { describe, test, expect },
  { name: 'sqlite', open: (place) => openSqliteStore({ ...suiteOptions, dir: join(root, place) }), shared: true },
)
