/** The suite that comes with the port proves that the driver keeps it. */
import { afterAll, beforeAll, describe, test } from 'bun:test'
import { testEmbedder } from '@cstp/client/storage/conformance'
import { openTrigramEmbedder } from './embedder.ts'

testEmbedder({ describe, test, beforeAll, afterAll }, { name: 'trigrams', open: openTrigramEmbedder })
