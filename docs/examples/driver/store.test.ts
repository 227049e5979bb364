/** Runs the suites of the ports against the drivers. */
import { describe, expect, test } from 'bun:test'
import { evidenceConformance, storeConformance, suiteOptions } from '@cstp/client/storage/conformance'
import drivers, { openMemoryStore } from './store.ts'

const runner = { describe, expect, test }
// Not shared: what is in memory is gone with its process.
storeConformance(runner, { name: 'memory', open: async () => openMemoryStore(suiteOptions), shared: false })
evidenceConformance('memory', runner, drivers.evidence)
