/** The three vectors of a decision, made from its bridge. */
import type { Bridge } from '../../sdk/schema/decision.ts'
import type { Embedder } from '../../sdk/storage/embedder.ts'
import type { VectorSet } from '../../sdk/storage/vectors.ts'
import { sideTexts } from './bridge.ts'

/** Embeds each distinct text once; vectors hold the effective dimensions only. @throws StorageError when the embedder is away */
export async function embedBridge(embedder: Embedder, bridge: Bridge, signal: AbortSignal): Promise<VectorSet> {
  const texts = sideTexts(bridge)
  const distinct = [...new Set(Object.values(texts))]
  const vectors = await embedder.embed(distinct, 'document', signal)
  const made = new Map(
    distinct.map((text, index) => [text, vectors[index]!.subarray(0, embedder.effective_dimensions)]),
  )
  return { structure: made.get(texts.structure)!, function: made.get(texts.function)!, both: made.get(texts.both)! }
}
