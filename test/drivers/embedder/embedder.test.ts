/** Every embedder driver against the suite of the port. */

import { afterAll, beforeAll, describe, setDefaultTimeout, test } from 'bun:test'
import { testEmbedder } from '../../../sdk/storage/conformance/embedder.ts'
import { openHashEmbedder } from '../../../src/drivers/embedder/hash.ts'
import { openHuggingfaceEmbedder } from '../../../src/drivers/embedder/huggingface.ts'
import { openLocalEmbedder } from '../../../src/drivers/embedder/local/driver.ts'
import { openOpenaiEmbedder } from '../../../src/drivers/embedder/openai.ts'
import { serveOpenai, serveTei } from '../../support/embedder-servers.ts'

// WebAssembly is slow on a busy machine.
setDefaultTimeout(60_000)

const runner = { describe, test, beforeAll, afterAll }
const tei = serveTei()
const openai = serveOpenai()
afterAll(async () => {
  await Promise.all([tei.stop(), openai.stop()])
})

testEmbedder(runner, { name: 'hash', open: openHashEmbedder })
testEmbedder(runner, { name: 'local (native)', open: () => openLocalEmbedder({ runtime: 'native' }) })
testEmbedder(runner, { name: 'local (wasm)', open: () => openLocalEmbedder({ runtime: 'wasm' }) })
testEmbedder(runner, {
  name: 'huggingface',
  open: () => openHuggingfaceEmbedder({ model: 'BAAI/bge-base-en-v1.5', url: `${tei.url}/embed` }),
})
testEmbedder(runner, {
  name: 'openai',
  open: () => openOpenaiEmbedder({ model: 'nomic-embed-text', url: openai.url, batch_size: 7 }),
})
