/** The suites that check a driver against its port; run them with bun:test, vitest or jest. */
export { type EmbedderRunner, type EmbedderSuite, testEmbedder } from './embedder.ts'
export { evidenceConformance } from './evidence.ts'
export type { Expectation, TestRunner } from './runner.ts'
export { type SearchSuite, testSearch } from './search.ts'
export { type StoreSuite, storeConformance, suiteOptions } from './store.ts'
