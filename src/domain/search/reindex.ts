/** Rebuilds all vectors while the active ones serve, then switches. */

import { decisionPages, readDecisions } from '../../../sdk/storage/decisions.ts'
import type { Embedder } from '../../../sdk/storage/embedder.ts'
import { StorageError } from '../../../sdk/storage/errors.ts'
import { countDecisions } from '../../../sdk/storage/groups.ts'
import type { Generation, Store, StoredDecision } from '../../../sdk/storage/store.ts'
import type { VectorSet } from '../../../sdk/storage/vectors.ts'
import { embedDecision, queueVectors } from './embeddings.ts'
import type { IndexSync } from './index-sync.ts'

export interface ReindexTools {
  store: Store
  index: IndexSync
  embedder: Embedder
  signal: AbortSignal
  now(): number
  /** Called after each decision. */
  progress(done: number, total: number): void
}

/** Decisions whose vectors are committed together. */
const page = 64
/** Decisions embedded concurrently: enough to keep an embedder busy. */
const width = 4
/** Consecutive failures after which the embedder counts as unavailable. */
const patience = 8

/** A decision as it was read, with its new vectors; null if they could not be computed. */
interface Made {
  id: string
  revision: number
  vectors: VectorSet | null
}

/** Embeds every decision that `wanted` accepts, a page while the previous one is committed; those that fail go to the outbox. */
async function embedAll(
  tools: ReindexTools,
  wanted: (id: string) => boolean,
): Promise<{ done: number; errors: number }> {
  const { store, embedder, signal } = tools
  const total = await countDecisions(store.decisions, {})
  let [done, errors, failedInARow, seen] = [0, 0, 0, 0]

  const one = async ({ record, revision }: StoredDecision): Promise<Made> => {
    signal.throwIfAborted()
    try {
      const { vectors } = await embedDecision(embedder, record, signal)
      failedInARow = 0
      return { id: record.id, revision, vectors }
    } catch (error) {
      failedInARow++
      if (signal.aborted || failedInARow >= patience) throw error
      return { id: record.id, revision, vectors: null }
    } finally {
      tools.progress(++seen, total)
    }
  }

  async function keep(made: readonly Made[]): Promise<void> {
    const kept = await store.transaction(async (tx) => {
      const there = await tx.decisions.get(made.map(({ id }) => id))
      const revisions = new Map(there.map(({ id, revision }) => [id, revision]))
      for (const { id, revision, vectors } of made) {
        if (vectors === null) await queueVectors(tx, id, tools.now())
        // If it changed in the meantime, its update has stored or queued the vectors, in this generation too.
        else if (revisions.get(id) === revision) await tx.embeddings.put(id, { embedder: embedder.id, vectors })
      }
      return made.filter(({ id, vectors }) => vectors !== null && revisions.has(id)).length
    })
    done += kept
    errors += made.filter(({ vectors }) => vectors === null).length
  }

  let keeping: Promise<void> = Promise.resolve()
  try {
    for await (const found of decisionPages(store.decisions, {}, page)) {
      const queue = await readDecisions(store.decisions, found.map(({ id }) => id).filter(wanted))
      const made: Made[] = []
      await Promise.all(
        Array.from({ length: width }, async () => {
          for (let next = queue.shift(); next; next = queue.shift()) made.push(await one(next))
        }),
      )
      await keeping
      keeping = keep(made)
      // Awaited with the next page.
      keeping.catch(() => {})
    }
  } finally {
    await keeping
  }
  return { done, errors }
}

/**
 * Rebuilds the vectors of all decisions in a new generation, or, in place, of those that `only` accepts.
 * @throws StorageError `unavailable` if the embedder is unavailable; the old vectors stay in use
 */
export async function reindex(
  tools: ReindexTools,
  only: ((id: string) => boolean) | null,
): Promise<{ decisions_indexed: number; errors: number }> {
  const { store, index, embedder } = tools
  const active = (await store.feed.head()).active
  const inPlace = only !== null && (active === null || active.embedder === embedder.id)
  const generation: Generation | null = inPlace
    ? null
    : await store.transaction((tx) =>
        tx.embeddings.putGeneration({
          state: 'building',
          embedder: embedder.id,
          dimensions: embedder.effective_dimensions,
        }),
      )
  const { done, errors } = await embedAll(tools, inPlace ? only : () => true)
  if (generation?.state === 'building') {
    await index.prepare(generation)
    const still = (await store.feed.head()).building
    if (still?.number !== generation.number) throw new StorageError('conflict', 'another reindex took over')
    await store.transaction((tx) => tx.embeddings.putGeneration({ state: 'active', number: generation.number }))
  }
  return { decisions_indexed: done, errors }
}
