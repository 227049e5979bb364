/** Finds what a fresh outcome contradicts, and links it, so that it is known without a search later. */
import type { DecisionRecord } from '../../sdk/schema/decision.ts'
import type { Embedder } from '../../sdk/storage/embedder.ts'
import type { Store } from '../../sdk/storage/store.ts'
import { sideTexts } from './bridge.ts'
import { opposites } from './contradictions.ts'
import type { Follower } from './follower.ts'
import { withLink } from './link.ts'

/** What it needs of a call. */
export interface ReviewCall {
  store: Store
  index: Follower
  embedder: Embedder
  embed_wait_ms: number
  request_id: string
  signal: AbortSignal
  log(level: 'warn', message: string, detail: Record<string, unknown>): void
  now(): number
}

/** The vector of the decision's purpose, or null while the index holds another embedder's. */
async function purposeOf(call: ReviewCall, record: DecisionRecord): Promise<Float32Array | null> {
  await call.index.sync()
  const generation = call.index.generation()
  if (generation?.embedder !== call.embedder.id) return null
  const waited = AbortSignal.any([call.signal, AbortSignal.timeout(call.embed_wait_ms)])
  const [vector] = await call.embedder.embed([sideTexts(record.bridge).function], 'document', waited)
  return vector!.subarray(0, generation.dimensions)
}

/** Links a decision with those of the same purpose and project that came out the other way. The review stands whether or not this works. */
export async function linkContradictions(call: ReviewCall, record: DecisionRecord): Promise<void> {
  if (record.outcome !== 'success' && record.outcome !== 'failure') return
  if (!record.project?.name) return
  try {
    const found = await opposites(call, record, await purposeOf(call, record))
    if (found.length === 0) return
    await call.store.transaction(async (tx) => {
      const now = await tx.decisions.get(record.id)
      if (!now) return
      const context = 'The same purpose in one project, with opposite outcomes'
      const linked = found.reduce(
        (one, target_id) =>
          withLink(one, {
            target_id,
            edge_type: 'contradicts',
            weight: 1,
            context,
            created_at: new Date(call.now()).toISOString(),
            created_by: 'auto-link',
          }),
        now.record,
      )
      await tx.decisions.update(linked, now.revision)
    })
  } catch (error) {
    call.log('warn', 'contradictions could not be looked for', {
      request_id: call.request_id,
      id: record.id,
      error: String(error),
    })
  }
}
