/** The vectors of a decision: embedded from its bridge, stored with its record, or left to the outbox. */
import type { DecisionRecord } from '../../../sdk/schema/decision.ts'
import type { Embedder } from '../../../sdk/storage/embedder.ts'
import { newOutboxValue, outboxCollection } from '../../../sdk/storage/keyed.ts'
import type { Transaction } from '../../../sdk/storage/store.ts'
import type { VectorSet } from '../../../sdk/storage/vectors.ts'
import { type Log, messageOf } from '../../core/log.ts'
import { extractBridge } from '../decision/bridge.ts'
import { maxRead, passagesOf } from './passages.ts'

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

/** What the vectors of a decision are made of. */
export type Embedded = Pick<DecisionRecord, 'decision' | 'context' | 'pattern' | 'reasons' | 'bridge' | 'bridge_method'>

/** Characters of the decision's own text that a given bridge is compared with. */
const maxOwnText = 2_000

interface Sides {
  structure: string
  function: string
}

/** The texts that decide about a decision's vectors: those of its bridge and context, and of a given bridge also those that it is compared with. */
export interface EmbeddedTexts {
  given: Sides
  passages: string[]
  own: Sides | null
  text: string
}

export function embeddedTexts(record: Embedded): EmbeddedTexts {
  const { bridge, context, decision } = record
  const own = record.bridge_method === 'rule' ? null : extractBridge(record)
  return {
    given: { structure: bridge.structure, function: bridge.function },
    passages: passagesOf(context ?? ''),
    own: own && { structure: own.structure, function: own.function },
    text: own ? decision.slice(0, maxOwnText).toWellFormed() : bridge.structure,
  }
}

/** The texts of the vector of both sides: each said once. */
const textsOfBoth = ({ structure, function: purpose }: Sides, passages: readonly string[]): string[] => [
  ...new Set([structure, ...(structure.includes(purpose) ? [] : [purpose]), ...passages]),
]

/**
 * One vector of several texts: their mean, in which a text weighs as the root of what is read of it. Measured, with other weights, in
 * docs/design/search.md.
 */
function meanOf(texts: readonly string[], vectorOf: (text: string) => Float32Array): Float32Array {
  const first = vectorOf(texts[0]!)
  if (texts.length === 1) return first
  const sums = new Float64Array(first.length)
  for (const text of texts) {
    const weight = Math.sqrt(Math.min(text.length, maxRead))
    const vector = vectorOf(text)
    for (let at = 0; at < sums.length; at++) sums[at]! += weight * vector[at]!
  }
  let squares = 0
  for (let at = 0; at < sums.length; at++) squares += sums[at]! ** 2
  if (squares === 0) return first
  const length = Math.sqrt(squares)
  const mean = new Float32Array(sums.length)
  for (let at = 0; at < mean.length; at++) mean[at] = sums[at]! / length
  return mean
}

function distanceOf(a: Float32Array, b: Float32Array): number {
  let [dot, aa, bb] = [0, 0, 0]
  for (let at = 0; at < a.length; at++) {
    dot += a[at]! * b[at]!
    aa += a[at]! ** 2
    bb += b[at]! ** 2
  }
  return aa === 0 || bb === 0 ? 1 : 1 - dot / Math.sqrt(aa * bb)
}

/** Vectors that a decision is found by, and whether they are those of a bridge that was given but is too far from its text. */
export interface DecisionVectors {
  vectors: VectorSet
  bridge_too_far: boolean
}

/**
 * Embeds each distinct text once; vectors hold the effective dimensions only. The vector of both sides is made of theirs and of the
 * context's passages. A given bridge whose structure is farther from the decision itself than noise, or whose function is that far from
 * all that was written with it, is not searched by: the one that the rule makes of the text takes its place. A context alone, which may
 * quote anything, does not make a decision look like what it quotes.
 * @throws StorageError if the embedder is unavailable
 */
export async function embedDecision(
  embedder: Embedder,
  record: Embedded,
  signal: AbortSignal,
): Promise<DecisionVectors> {
  const { given, own, passages, text } = embeddedTexts(record)
  const distinct = [
    ...new Set(
      [given, ...(own ? [own] : [])].flatMap((sides) => [sides.structure, sides.function]).concat(text, passages),
    ),
  ]
  const vectors = await embedder.embed(distinct, 'document', signal)
  const made = new Map(
    distinct.map((one, index) => [one, vectors[index]!.subarray(0, embedder.effective_dimensions)] as const),
  )
  const vectorOf = (one: string) => made.get(one)!
  const setOf = (sides: Sides): VectorSet => ({
    structure: vectorOf(sides.structure),
    function: vectorOf(sides.function),
    both: meanOf(textsOfBoth(sides, passages), vectorOf),
  })
  const vectorsGiven = setOf(given)
  if (own === null) return { vectors: vectorsGiven, bridge_too_far: false }
  const vectorsOwn = setOf(own)
  const far = (side: Float32Array, written: readonly Float32Array[]): boolean =>
    written.every((one) => distanceOf(side, one) > embedder.noise_distance)
  const bridge_too_far =
    far(vectorsGiven.structure, [vectorsOwn.structure, vectorOf(text)]) ||
    far(vectorsGiven.function, [...Object.values(vectorsOwn), vectorOf(text)])
  return { vectors: bridge_too_far ? vectorsOwn : vectorsGiven, bridge_too_far }
}

/** Aborts with the call, when it has waited long enough for the embedder, or with `unneeded`: one signal of all, as each costs a record time. */
export const embedSignal = (
  { signal, embed_wait_ms }: Pick<EmbeddingCall, 'signal' | 'embed_wait_ms'>,
  ...unneeded: AbortSignal[]
): AbortSignal => AbortSignal.any([signal, AbortSignal.timeout(embed_wait_ms), ...unneeded])

/**
 * The vectors of a decision; null if they are not there in time: then the outbox makes them.
 * @param unneeded aborts when nobody wants them any more
 */
export async function embedInTime(
  call: EmbeddingCall,
  id: string,
  record: Embedded,
  unneeded?: AbortSignal,
): Promise<DecisionVectors | null> {
  const signal = unneeded ? embedSignal(call, unneeded) : embedSignal(call)
  try {
    return await embedDecision(call.embedder, record, signal)
  } catch (error) {
    if (unneeded?.aborted) return null
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
  if (vectors !== null) await tx.embeddings.put(id, { embedder: embedder.id, vectors })
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
  if (!indexed) await queueVectors(tx, id, now())
  return indexed
}

/** Leaves the vectors of a decision to the outbox, due at once; one that waits already begins again. */
export const queueVectors = ({ keyed }: Transaction, id: string, now_ms: number): Promise<void> =>
  keyed.put(outboxCollection, id, newOutboxValue, { expires_ms: now_ms })
