/** The embedders that a measurement may choose. */
import type { Embedder } from '../../sdk/storage/embedder.ts'
import { openHashEmbedder } from '../../src/drivers/embedder/hash.ts'
import { openLocalEmbedder } from '../../src/drivers/embedder/local/driver.ts'

const embedders = { local: openLocalEmbedder, hash: openHashEmbedder }
export type EmbedderName = keyof typeof embedders

export const openEmbedderOf = async (name: string): Promise<Embedder> => embedders[name as EmbedderName]()
