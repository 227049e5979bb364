/** Every vectors driver keeps the port. */
import { afterAll, beforeAll, describe, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { testVectors } from '../../sdk/storage/conformance/vectors.ts'
import { openExactVectors } from '../../src/drivers/vectors/exact.ts'
import { openLanceVectors } from '../../src/drivers/vectors/lancedb.ts'
import { openMemoryVectors } from '../../src/drivers/vectors/memory.ts'

const runner = { describe, test, beforeAll, afterAll }

testVectors(runner, { name: 'memory', open: async () => openMemoryVectors() })
testVectors(runner, { name: 'exact', open: async () => openExactVectors() })
testVectors(runner, { name: 'exact (worker)', open: async () => openExactVectors({ worker_from: 0 }) })

const folder = mkdtempSync(join(tmpdir(), 'cstp-vectors-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

testVectors(runner, { name: 'lancedb', open: (place) => openLanceVectors({ url: join(folder, place) }) })
