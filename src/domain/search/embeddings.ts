/** The vectors of a decision: embedded from its bridge, stored with its record, or left to the outbox. */

import type { DecisionRecord } from '../../../sdk/schema/decision.ts'
import type { Embedder } from '../../../sdk/storage/embedder.ts'
import { newOutboxValue, outboxCollection } from '../../../sdk/storage/keyed.ts'
import type { Transaction } from '../../../sdk/storage/store.ts'
import type { VectorSet } from '../../../sdk/storage/vectors.ts'
import { type Log, messageOf } from '../../core/log.ts'
import { extractBridge, head } from '../record/decision/bridge.ts'

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

/** The fields from which the vectors of a decision are computed. */
export type Embedded = Pick<DecisionRecord, 'decision' | 'context' | 'pattern' | 'reasons' | 'bridge' | 'bridge_method'>

/** Characters of the decision's own text that a given bridge is compared with. */
const maxOwnText = 2_000

interface Sides {
  structure: string
  function: string
}

/** The texts that determine a decision's vectors: its bridge and context, and for a given bridge also the texts that it is compared with. */
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

/** The texts of the vector `both`, without repetitions. */
const textsOfBoth = ({ structure, function: purpose }: Sides, passages: readonly string[]): string[] => [
  ...new Set([structure, ...(structure.includes(purpose) ? [] : [purpose]), ...passages]),
]

/**
 * One vector for several texts: their mean, weighted by the square root of the length that the model reads of each. docs/design/search.md
 * compares this with other weights.
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

/** The vectors by which a decision is found, and whether they replace those of a given bridge that is too far from its text. */
export interface DecisionVectors {
  vectors: VectorSet
  bridge_too_far: boolean
}

/**
 * Embeds each distinct text once; vectors hold only the effective dimensions. The vector `both` is computed from both sides and the
 * passages of the context. If the structure of a given bridge is farther from the decision itself than noise, or its function is that far
 * from everything written with it, the bridge that the rule extracts from the text is used instead. The structure is not compared with
 * the context, which may quote anything: a quotation must not decide what the decision is about.
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

/** Queues the vectors of a decision in the outbox, due at once. An entry that is already queued starts over. */
export const queueVectors = ({ keyed }: Transaction, id: string, now_ms: number): Promise<void> =>
  keyed.put(outboxCollection, id, newOutboxValue, { expires_ms: now_ms })

// A long text in passages of whole sentences, each short enough to be embedded whole.

const sentenceEnd = /[.!?](?=\s|$)|[。！？\n]/g
/** A passage ends with the sentence that reaches this many characters: shorter passages say too little. */
const least = 450
/** About how many characters of a text small models read. */
export const maxRead = 1_000
/** Most passages, as their cost grows with their number. */
const most = 12

/** The first passages of a text; none if it is empty. */
export function passagesOf(text: string): string[] {
  const passages: string[] = []
  let start = 0
  const end = (at: number): void => {
    const passage = text.slice(start, at).trim()
    if (passage !== '' && passages.length < most) passages.push(passage.toWellFormed())
    start = at
  }
  const cutTo = (limit: number): void => {
    while (limit - start > maxRead && passages.length < most)
      end(start + head(text.slice(start, start + maxRead), maxRead).length)
  }
  for (const { index } of text.matchAll(sentenceEnd)) {
    if (passages.length === most) break
    cutTo(index + 1)
    if (index + 1 - start >= least) end(index + 1)
  }
  cutTo(text.length)
  end(text.length)
  return passages
}
