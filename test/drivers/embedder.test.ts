/** Every embedder driver against the suite of the port. */

import { afterAll, beforeAll, describe, test } from 'bun:test'
import { testEmbedder } from '../../sdk/storage/conformance/embedder.ts'
import { openHashEmbedder } from '../../src/drivers/embedder/hash.ts'
import { openLocalEmbedder } from '../../src/drivers/embedder/local.ts'

const runner = { describe, test, beforeAll, afterAll }

testEmbedder(runner, { name: 'hash', open: openHashEmbedder })
testEmbedder(runner, { name: 'local (native)', open: () => openLocalEmbedder({ runtime: 'native' }) })
testEmbedder(runner, { name: 'local (wasm)', open: () => openLocalEmbedder({ runtime: 'wasm' }) })
