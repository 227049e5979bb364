/** Rebuilds all vectors beside those that are served, then swaps. */

import { decisionPages, readDecision, readDecisions } from '../../../sdk/storage/decisions.ts'
import type { Embedder } from '../../../sdk/storage/embedder.ts'
import { StorageError } from '../../../sdk/storage/errors.ts'
import type { Generation, Store, StoredDecision } from '../../../sdk/storage/store.ts'
import { embedDecision, queueVectors } from './embeddings.ts'
import type { Follower } from './follower.ts'

export interface ReindexTools {
  store: Store
  index: Follower
  embedder: Embedder
  signal: AbortSignal
  now(): number
  /** Called after each decision. */
  progress(done: number, total: number): void
}

const page = 64
/** Decisions embedded at once: enough to keep an embedder busy. */
const width = 4
/** Failures in a row after which the embedder counts as unavailable. */
const patience = 8

/** Embeds every decision that `wanted` names; those that fail go to the outbox. */
async function embedAll(
  tools: ReindexTools,
  wanted: (id: string) => boolean,
): Promise<{ done: number; errors: number }> {
  const { store, embedder, signal } = tools
  const total = await store.decisions.count({})
  let [done, errors, failedInARow, seen] = [0, 0, 0, 0]

  const one = async ({ record, revision }: StoredDecision): Promise<void> => {
    signal.throwIfAborted()
    try {
      const { vectors } = await embedDecision(embedder, record, signal)
      const kept = await store.transaction(async (tx) => {
        const now = await readDecision(tx.decisions, record.id)
        // Changed meanwhile: its own update saw to the vectors, in this generation too.
        if (now?.revision === revision) await tx.embeddings.put(record.id, { embedder: embedder.id, vectors })
        return now !== null
      })
      if (kept) done++
      failedInARow = 0
    } catch (error) {
      errors++
      failedInARow++
      if (signal.aborted || failedInARow >= patience) throw error
      await store.transaction((tx) => queueVectors(tx, record.id, tools.now()))
    } finally {
      tools.progress(++seen, total)
    }
  }

  for await (const found of decisionPages(store.decisions, {}, page)) {
    const queue = await readDecisions(store.decisions, found.map(({ id }) => id).filter(wanted))
    await Promise.all(
      Array.from({ length: width }, async () => {
        for (let next = queue.shift(); next; next = queue.shift()) await one(next)
      }),
    )
  }
  return { done, errors }
}

/**
 * Rebuilds the vectors of all decisions in a new generation, or of those that `only` names in place.
 * @throws StorageError `unavailable` if the embedder is unavailable; the old vectors stay in use
 */
export async function reindex(
  tools: ReindexTools,
  only: ((id: string) => boolean) | null,
): Promise<{ decisions_indexed: number; errors: number }> {
  const { store, index, embedder } = tools
  const active = await store.embeddings.generation('active')
  const inPlace = only !== null && active?.embedder === embedder.id
  const generation: Generation | null = inPlace
    ? null
    : await store.transaction((tx) => tx.embeddings.start(embedder.id, embedder.effective_dimensions))
  const { done, errors } = await embedAll(tools, inPlace ? only : () => true)
  if (generation?.state === 'building') {
    await index.prepare(generation)
    const still = await store.embeddings.generation('building')
    if (still?.number !== generation.number) throw new StorageError('conflict', 'another reindex took over')
    await store.transaction((tx) => tx.embeddings.activate(generation.number))
  }
  return { decisions_indexed: done, errors }
}
