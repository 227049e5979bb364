/** cstp.updateDecision: changes what may change, and keeps what stood before. */
import * as v from 'valibot'
import { decisionNotFound } from '../../sdk/errors.ts'
import { Bridge, filledText, fraction, Reason, text } from '../../sdk/schema/decision.ts'
import { DecisionId } from '../../sdk/schema/params.ts'
import { isStorageError } from '../../sdk/storage/errors.ts'
import type { VectorSet } from '../../sdk/storage/vectors.ts'
import { audit, type Call, timestamp } from '../context.ts'
import { sideTexts } from '../domain/bridge.ts'
import { applyUpdate, type Updates } from '../domain/decision.ts'
import { embedBridge } from '../domain/embed.ts'
import { given } from '../domain/filter.ts'
import { resolveId } from '../domain/lookup.ts'
import { defineMethod } from '../method.ts'

const updates = v.pipe(
  v.object({
    decision: v.optional(filledText(10_000)),
    confidence: v.optional(fraction),
    context: v.optional(v.nullable(text(100_000))),
    tags: v.optional(v.pipe(v.array(filledText(64)), v.maxLength(50, 'at most 50 entries'))),
    pattern: v.optional(v.nullable(text(10_000))),
    reasons: v.optional(v.pipe(v.array(Reason), v.maxLength(100, 'at most 100 entries'))),
    bridge: v.optional(Bridge),
  }),
  v.check((value) => Object.keys(value).length > 0, 'at least one field to change'),
  v.description('Fields to change; `deliberation` grows through recordThought only.'),
)

const tries = 8

/** One try on the revision that is stored now. @throws StorageError `conflict` when it is no longer the one that was read */
async function attempt(
  call: Call,
  id: string,
  changes: Updates,
  mayWait: boolean,
): Promise<{ applied: string[]; indexed: boolean }> {
  const before = await call.store.decisions.get(id)
  if (!before) throw decisionNotFound(id)
  const { record, applied } = applyUpdate(before.record, changes, call.caller.agent, timestamp(call.now()))
  const moved = JSON.stringify(sideTexts(record.bridge)) !== JSON.stringify(sideTexts(before.record.bridge))
  let vectors: VectorSet | null = null
  if (moved && mayWait) {
    vectors = await embedBridge(
      call.embedder,
      record.bridge,
      AbortSignal.any([call.signal, AbortSignal.timeout(call.embed_wait_ms)]),
    ).catch(() => null)
  }
  return call.store.transaction(async (tx) => {
    await tx.decisions.update(record, before.revision)
    const active = await tx.embeddings.active()
    const usable = vectors !== null && active?.embedder === call.embedder.id
    if (moved) {
      await tx.embeddings.drop(id)
      if (vectors) await tx.embeddings.put(id, call.embedder.id, vectors)
      if (!usable) await tx.outbox.add(id, call.now())
    }
    await audit(call, tx, [id], { applied })
    return { applied, indexed: moved ? usable : before.indexed }
  })
}

export const updateDecision = defineMethod({
  summary: 'Changes fields of a decision; earlier values stay in its revisions.',
  params: v.object({ id: DecisionId, updates }),
  result: v.object({
    success: v.boolean(),
    id: v.string(),
    applied: v.pipe(v.array(v.string()), v.description('Names of the fields that were changed.')),
    indexed: v.pipe(v.boolean(), v.description('Whether it can be found by its new meaning already.')),
  }),
  scope: 'write',
  failure: 'internal_error',
  async handle(call, params) {
    const id = await resolveId(call.store.decisions, params.id, 'id')
    const changes = given(params.updates) as Updates
    for (let left = tries; ; left--) {
      try {
        // Late tries leave the vectors to the outbox: without that wait, the write comes through under any load.
        return { success: true, id, ...(await attempt(call, id, changes, left > tries / 2)) }
      } catch (error) {
        if (!isStorageError(error, 'conflict') || left <= 1) throw error
      }
    }
  },
})
