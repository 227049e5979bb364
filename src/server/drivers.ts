/** The drivers that the settings name; a driver's libraries are loaded only when it is chosen. */
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import type { Embedder } from '../../sdk/storage/embedder.ts'
import type { Evidence } from '../../sdk/storage/evidence.ts'
import type { Vectors } from '../../sdk/storage/vectors.ts'
import type { Settings } from '../config.ts'
import { type Chain, openChain } from '../domain/evidence/chain.ts'
import { openHashEmbedder } from '../drivers/embedder/hash.ts'
import { openExactVectors } from '../drivers/vectors/exact.ts'
import type { Log } from '../surfaces/log.ts'
import type { Metrics } from '../surfaces/metrics.ts'
import { startWalkers } from './walkers.ts'

/** The embedder that is chosen. @param failed told when a model that loads beside the server can't */
export async function openEmbedder(settings: Settings, log: Log, failed?: (error: unknown) => void): Promise<Embedder> {
  const { embedding_model: model, embedding_url: url, embedding_api_key: api_key } = settings
  const remote = { ...(model && { model }), ...(url && { url }), ...(api_key && { api_key }) }
  switch (settings.embedder) {
    case 'hash':
      return openHashEmbedder()
    case 'local':
      return (await import('../drivers/embedder/local.ts')).openLocalEmbedder({ log, ...(failed && { failed }) })
    case 'huggingface':
      return (await import('../drivers/embedder/huggingface.ts')).openHuggingfaceEmbedder(remote)
    case 'openai':
      return (await import('../drivers/embedder/openai.ts')).openOpenaiEmbedder({ ...remote, model: model!, url: url! })
  }
}

/** The vectors driver that is chosen, with a resident tail where it takes new vectors in batches only. */
export async function openVectors(settings: Settings, log: Log): Promise<{ vectors: Vectors; tail?: Vectors }> {
  if (settings.vector_url === null) return { vectors: openExactVectors() }
  const { openLanceVectors } = await import('../drivers/vectors/lancedb.ts')
  return { vectors: await openLanceVectors({ url: settings.vector_url, log }), tail: openExactVectors() }
}

/** The evidence log, and the chain that the program appends to. */
export async function openEvidence(
  { provenance_db, data_dir }: Settings,
  log: Log,
): Promise<{ evidence: Evidence; chain: Chain; close(): Promise<void> }> {
  const { openSqliteEvidence } = await import('../drivers/evidence/sqlite.ts')
  const path = provenance_db ?? join(data_dir, 'provenance.db')
  const evidence = await openSqliteEvidence(path)
  const walkers = () => startWalkers(path, availableParallelism(), log)
  // A timer would cost a walk a millisecond for each page.
  const breathe = () => new Promise<void>((resolve) => setImmediate(resolve))
  const chain = openChain({ evidence, walkers, breathe })
  return { evidence, chain, close: evidence.close }
}

/** Tells the metrics of each call of an embedder. */
export function metered(embedder: Embedder, metrics: Metrics): Embedder {
  return {
    ...embedder,
    async embed(texts, kind, signal) {
      const start = performance.now()
      let failed = true
      try {
        const vectors = await embedder.embed(texts, kind, signal)
        failed = false
        return vectors
      } finally {
        metrics.embed(kind, texts.length, performance.now() - start, failed)
      }
    },
  }
}
