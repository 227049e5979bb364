/** The vectors of a decision: embedded from its bridge, stored with its record, or left to the outbox. */
import type { Bridge } from '../../../sdk/schema/decision.ts'
import type { Embedder } from '../../../sdk/storage/embedder.ts'
import type { Transaction } from '../../../sdk/storage/store.ts'
import type { VectorSet } from '../../../sdk/storage/vectors.ts'
import { type Log, messageOf } from '../../core/log.ts'
import { sideTexts } from '../decision/bridge.ts'

/** What embedding needs of a call. */
export interface EmbeddingCall {
  embedder: Embedder
  /** How long a call waits for vectors, in milliseconds. */
  embed_wait_ms: number
  request_id: string
  signal: AbortSignal
  log: Log
  now(): number
}

/** Embeds each distinct text once; vectors hold the effective dimensions only. @throws StorageError if the embedder is unavailable */
export async function embedBridge(embedder: Embedder, bridge: Bridge, signal: AbortSignal): Promise<VectorSet> {
  const texts = sideTexts(bridge)
  const distinct = [...new Set(Object.values(texts))]
  const vectors = await embedder.embed(distinct, 'document', signal)
  const made = new Map(
    distinct.map((text, index) => [text, vectors[index]!.subarray(0, embedder.effective_dimensions)]),
  )
  return { structure: made.get(texts.structure)!, function: made.get(texts.function)!, both: made.get(texts.both)! }
}

/** Aborts with the call, or when it has waited long enough for the embedder. */
export const embedSignal = ({ signal, embed_wait_ms }: Pick<EmbeddingCall, 'signal' | 'embed_wait_ms'>): AbortSignal =>
  AbortSignal.any([signal, AbortSignal.timeout(embed_wait_ms)])

/** The vectors of a bridge; null if they are not there in time: then the outbox makes them. */
export async function embedInTime(call: EmbeddingCall, id: string, bridge: Bridge): Promise<VectorSet | null> {
  try {
    return await embedBridge(call.embedder, bridge, embedSignal(call))
  } catch (error) {
    call.log('warn', 'vectors follow later', {
      request_id: call.request_id,
      id,
      error: messageOf(error),
    })
    return null
  }
}

/** Stores the vectors, in a first generation if there is none. True if the decision can be found by meaning. */
export async function putVectors(
  tx: Transaction,
  embedder: Embedder,
  id: string,
  vectors: VectorSet | null,
): Promise<boolean> {
  const generation = await tx.embeddings.generation('active')
  // Vectors that belong to no generation would be lost.
  if (generation === null) await tx.embeddings.start(embedder.id, embedder.effective_dimensions)
  if (vectors !== null) await tx.embeddings.put(id, embedder.id, vectors)
  return vectors !== null && (generation === null || generation.embedder === embedder.id)
}

/** As {@link putVectors}; a decision that can't be found by meaning yet is queued in the outbox. */
export async function keepVectors(
  tx: Transaction,
  { embedder, now }: Pick<EmbeddingCall, 'embedder' | 'now'>,
  id: string,
  vectors: VectorSet | null,
): Promise<boolean> {
  const indexed = await putVectors(tx, embedder, id, vectors)
  if (!indexed) await tx.outbox.add(id, now())
  return indexed
}
