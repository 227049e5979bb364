/** Every embedder driver against the suite of the port. */

import { afterAll, beforeAll, describe, test } from 'bun:test'
import { testEmbedder } from '../../sdk/storage/conformance/embedder.ts'
import { openHashEmbedder } from '../../src/drivers/embedder/hash.ts'

const runner = { describe, test, beforeAll, afterAll }

testEmbedder(runner, { name: 'hash', open: openHashEmbedder })
