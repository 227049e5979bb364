/** Every embedder driver against the suite of the port. */

import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { createHash } from 'node:crypto'
import { testEmbedder } from '../../../sdk/storage/conformance/embedder.ts'
import { openHashEmbedder } from '../../../src/drivers/embedder/hash.ts'
import { openHuggingfaceEmbedder } from '../../../src/drivers/embedder/huggingface.ts'
import { openLocalEmbedder } from '../../../src/drivers/embedder/local/driver.ts'
import { openOpenaiEmbedder } from '../../../src/drivers/embedder/openai.ts'
import { serveOpenai, serveTei } from '../../support/embedder-servers.ts'

// WebAssembly is slow on a busy machine.
setDefaultTimeout(120_000)

const runner = { describe, test, beforeAll, afterAll }
const tei = serveTei()
const openai = serveOpenai()
afterAll(async () => {
  await Promise.all([tei.stop(), openai.stop()])
})

testEmbedder(runner, { name: 'hash', open: openHashEmbedder })

test('hash: vectors of an id stay as they are to the last bit, as stores keep them', async () => {
  const texts = [
    '',
    'a',
    'we use SQLite for the embedded store',
    'word word word, other words: 42',
    'Größe über Maß, 漢字 und emoji 🙂',
    'x'.repeat(30_000),
  ]
  const embedder = await openHashEmbedder()
  const vectors = await embedder.embed(texts, 'document', AbortSignal.timeout(60_000))
  const hash = createHash('sha256')
  for (const { buffer } of vectors) hash.update(new Uint8Array(buffer))
  expect({ id: embedder.id, sha256: hash.digest('hex') }).toEqual({
    id: 'hash/words-trigrams-256/1',
    sha256: 'e016e73166bedfecb24d5d01165c3e1a98caf9bda8079a8e4a24a210261f5a69',
  })
  await embedder.close()
})

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
