/** The vectors of a decision: embedded from its bridge, stored with its record, or left to the outbox. */

import type { DecisionRecord } from '../../../sdk/schema/decision.ts'
import type { Embedder } from '../../../sdk/storage/embedder.ts'
import { newOutboxValue, outboxCollection } from '../../../sdk/storage/keyed.ts'
import type { Transaction } from '../../../sdk/storage/store.ts'
import type { VectorSet } from '../../../sdk/storage/vectors.ts'
import { type Log, messageOf } from '../../core/log.ts'
import { type Embedded, embeddedTexts, maxRead, type Sides } from './searched.ts'

/** The parts of a call that embedding needs. */
export interface EmbeddingCall {
  embedder: Embedder
  /** How long a call waits for vectors, in milliseconds. */
  embed_wait_ms: number
  request_id: string
  signal: AbortSignal
  log: Log
  now(): number
}

interface Weighted {
  text: string
  weight: number
}

/** The root of the length that the model reads. docs/design/search.md compares this with other weights. */
const weightOf = (text: string): number => Math.sqrt(Math.min(text.length, maxRead))

/**
 * One vector for several: their weighted mean. A single vector is returned as it is.
 * @param parts at least one
 */
function meanOf(parts: readonly { vector: Float32Array; weight: number }[]): Float32Array {
  const first = parts[0]!.vector
  if (parts.length === 1) return first
  const sums = new Float64Array(first.length)
  for (const { vector, weight } of parts) for (let at = 0; at < sums.length; at++) sums[at]! += weight * vector[at]!
  let squares = 0
  for (let at = 0; at < sums.length; at++) squares += sums[at]! ** 2
  if (squares === 0) return first
  const length = Math.sqrt(squares)
  const mean = new Float32Array(sums.length)
  for (let at = 0; at < mean.length; at++) mean[at] = sums[at]! / length
  return mean
}

/** Cosine distance, for vectors of length 1. */
export function distanceOf(a: Float32Array, b: Float32Array): number {
  let dot = 0
  for (let at = 0; at < a.length; at++) dot += a[at]! * b[at]!
  return 1 - dot
}

/** The vectors by which a decision is found, and whether a side of its given bridge is far from its text. */
export interface DecisionVectors {
  vectors: VectorSet
  bridge_too_far: boolean
}

/** Of a side that is far from the text: its weight in `both`, in parts of the weight of the decision's own text. */
const farWeight = 0.5

/**
 * Embeds each distinct text once; vectors hold only the effective dimensions. The vector `both` is the mean of both sides, of the decision's
 * own text if the bridge was given, and of its passages. A purpose is by nature worded unlike the text, so a given side is always searched;
 * but one that is farther than noise from the decision itself looks like one that belongs to another decision. It is searched as the
 * mean with what the rule extracts, and has less weight in `both`.
 * @throws StorageError if the embedder is unavailable
 */
export async function embedDecision(
  embedder: Embedder,
  record: Embedded,
  signal: AbortSignal,
): Promise<DecisionVectors> {
  const { given, own, passages } = embeddedTexts(record)
  const texts = [given.structure, given.function, ...(own ? [own.structure, own.function] : []), ...passages]
  const distinct = [...new Set(texts)]
  const vectors = await embedder.embed(distinct, 'document', signal)
  const made = new Map(
    distinct.map((one, index) => [one, vectors[index]!.subarray(0, embedder.effective_dimensions)] as const),
  )
  const vectorOf = (one: string) => made.get(one)!
  const mean = (parts: readonly Weighted[]): Float32Array =>
    meanOf(parts.map(({ text, weight }) => ({ vector: vectorOf(text), weight })))
  /** Each text once. */
  const once = (parts: readonly Weighted[]): Weighted[] => {
    const seen = new Set<string>()
    return parts.filter(({ text }) => !seen.has(text) && seen.add(text))
  }
  const whole = (text: string): Weighted => ({ text, weight: weightOf(text) })

  if (own === null) {
    const { structure, function: purpose } = given
    const sides = structure.includes(purpose) ? [structure] : [structure, purpose]
    return {
      vectors: {
        structure: vectorOf(structure),
        function: vectorOf(purpose),
        both: mean(once([...sides, ...passages].map(whole))),
      },
      bridge_too_far: false,
    }
  }

  // The function may be like anything that the rule extracts, the structure only like the decision itself, not like what its context quotes.
  const farFrom = (side: string, ...texts: string[]): boolean =>
    texts.every((text) => distanceOf(vectorOf(side), vectorOf(text)) > embedder.noise_distance)
  const far = {
    structure: farFrom(given.structure, own.structure),
    function: farFrom(given.function, own.structure, own.function),
  }
  const sideOf = (side: keyof Sides): Float32Array =>
    far[side]
      ? meanOf([given[side], own[side]].map((text) => ({ vector: vectorOf(text), weight: 1 })))
      : vectorOf(given[side])
  const weighed = (side: keyof Sides): Weighted => {
    const { text, weight } = whole(given[side])
    return { text, weight: far[side] ? farWeight * Math.min(weight, weightOf(own.structure)) : weight }
  }
  const both = [whole(own.structure), weighed('structure'), weighed('function'), ...passages.map(whole)]
  return {
    vectors: { structure: sideOf('structure'), function: sideOf('function'), both: mean(once(both)) },
    bridge_too_far: far.structure || far.function,
  }
}

/** Aborts with the call, after its longest wait for the embedder, or with `unneeded`. One combined signal, as each one costs time per record. */
export const embedSignal = (
  { signal, embed_wait_ms }: Pick<EmbeddingCall, 'signal' | 'embed_wait_ms'>,
  ...unneeded: AbortSignal[]
): AbortSignal => AbortSignal.any([signal, AbortSignal.timeout(embed_wait_ms), ...unneeded])

/**
 * The vectors of a decision; null if they are not ready in time, and are left to the outbox.
 * @param unneeded aborts when they are not needed any more
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

/** Stores the vectors. A decision that can't be found by meaning yet is queued in the outbox. @returns whether it can be found */
export async function keepVectors(
  tx: Transaction,
  { embedder, now }: Pick<EmbeddingCall, 'embedder' | 'now'>,
  id: string,
  vectors: VectorSet | null,
): Promise<boolean> {
  const indexed = vectors !== null && (await tx.embeddings.put(id, { embedder: embedder.id, vectors }))
  if (!indexed) await queueVectors(tx, id, now())
  return indexed
}

/** Queues the vectors of a decision whose text changed; those of its former text are searched until then. */
export async function queueIfChanged(
  tx: Transaction,
  before: Embedded,
  after: Embedded & Pick<DecisionRecord, 'id'>,
  now_ms: number,
): Promise<void> {
  const textsOf = (record: Embedded): string => JSON.stringify(embeddedTexts(record))
  if (textsOf(before) !== textsOf(after)) await queueVectors(tx, after.id, now_ms)
}

/** Queues the vectors of a decision in the outbox, due at once. An entry that is already queued starts over. */
export const queueVectors = ({ keyed }: Transaction, id: string, now_ms: number): Promise<void> =>
  keyed.put(outboxCollection, id, newOutboxValue, { expires_ms: now_ms })
