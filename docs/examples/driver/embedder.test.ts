/** Runs the suite of the port against the driver. */
import { afterAll, beforeAll, describe, test } from 'bun:test'
import { testEmbedder } from '@cstp/client/storage/conformance'
import { openTrigramEmbedder } from './embedder.ts'

testEmbedder({ describe, test, beforeAll, afterAll }, { name: 'trigrams', open: openTrigramEmbedder })
