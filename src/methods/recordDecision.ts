/** cstp.recordDecision: one decision, durable and searchable when the answer leaves. */
import { CstpError, invalidParams } from '../../sdk/errors.ts'
import type { Deliberation } from '../../sdk/schema/decision.ts'
import { RecordParams, RecordResult } from '../../sdk/schema/record.ts'
import { isStorageError } from '../../sdk/storage/errors.ts'
import { audit, type Call } from '../context.ts'
import { type Draft, newRecord } from '../domain/decision.ts'
import { embedBridge } from '../domain/embed.ts'
import { once } from '../domain/idempotency.ts'
import { pathOf } from '../domain/path.ts'
import { instantMs } from '../domain/time.ts'
import { defineMethod } from '../method.ts'

const importFields = ['created_at', 'recorded_by', 'source_key'] as const

/** Import fields say who decided and when: only an administrator may say that for others. */
function checkImport({ caller }: Call, given: RecordParams): boolean {
  const used = importFields.filter((field) => given[field] !== null)
  if (used.length > 0 && !caller.scopes.has('admin')) {
    throw new CstpError('forbidden', `${used.join(', ')}: the import fields need the scope admin`, { scope: 'admin' })
  }
  return used.length > 0
}

const firstMs = Date.parse('0000-01-01T00:00:00Z')

function createdMs({ created_at }: RecordParams, now_ms: number): number {
  if (created_at === null) return now_ms
  const ms = instantMs(created_at)
  const expected = 'an RFC 3339 time or a day, not in the future'
  // A zone may push the first day into the year before 0, for which an id has no form.
  if (ms !== null && ms >= firstMs && ms <= now_ms) return ms
  throw invalidParams({
    path: 'created_at',
    message: `expected ${expected}`,
    expected,
    received: created_at.slice(0, 100),
  })
}

function draftOf(call: Call, given: RecordParams, imported: boolean): Draft {
  const { decision_id: _, idempotency_key: __, created_at: ___, recorded_by, ...rest } = given
  return {
    ...rest,
    tags: [...new Set(given.tags)],
    deliberation: given.deliberation as Deliberation | null,
    recorded_by: recorded_by ?? call.caller.agent,
    imported_by: imported ? call.caller.agent : null,
  }
}

export const recordDecision = defineMethod({
  summary: 'Records a decision: durable, indexed by meaning and by keyword.',
  params: RecordParams,
  result: RecordResult,
  scope: 'write',
  failure: 'record_failed',
  async handle(call, given): Promise<RecordResult> {
    const imported = checkImport(call, given)
    const now_ms = call.now()
    const draft = draftOf(call, given, imported)
    const created = createdMs(given, now_ms)
    const answer = (
      { id, bridge_method, deliberation, related_to, quality }: ReturnType<typeof newRecord>,
      indexed: boolean,
      existing = false,
    ): RecordResult => ({
      success: true,
      decision_id: id,
      path: pathOf(id),
      indexed,
      existing,
      guardrails_checked: false,
      guardrail_warnings: [],
      bridge_auto: bridge_method === 'rule',
      deliberation_auto: false,
      deliberation_inputs_count: deliberation?.inputs.length ?? 0,
      related_count: related_to.length,
      quality,
      message: existing
        ? 'This source key was recorded before'
        : indexed
          ? 'Decision recorded'
          : 'Decision recorded; its vectors follow',
    })

    return once(call, given.idempotency_key, given, async () => {
      const known = given.source_key === null ? null : await call.store.decisions.idOfSource(given.source_key)
      const first = known === null ? null : await call.store.decisions.get(known)
      if (first) return async () => answer(first.record, first.indexed, true)

      const record = newRecord(draft, created, now_ms, call.randomHex(6))
      // The record waits for its vectors, but not for ever: what is not there in time follows through the outbox.
      const vectors = await embedBridge(
        call.embedder,
        record.bridge,
        AbortSignal.any([call.signal, AbortSignal.timeout(call.embed_wait_ms)]),
      ).catch((error: unknown) => {
        call.log('warn', 'vectors follow later', {
          request_id: call.request_id,
          id: record.id,
          error: error instanceof Error ? error.message : String(error),
        })
        return null
      })
      return async (tx) => {
        if (given.source_key !== null) {
          const other = await tx.decisions.idOfSource(given.source_key)
          const stored = other === null ? null : await tx.decisions.get(other)
          if (stored) return answer(stored.record, stored.indexed, true)
        }
        await tx.decisions.create(record)
        const generation = await tx.embeddings.active()
        const usable = vectors !== null && (generation === null || generation.embedder === call.embedder.id)
        if (generation === null) await tx.embeddings.start(call.embedder.id, call.embedder.effective_dimensions)
        if (vectors !== null) await tx.embeddings.put(record.id, call.embedder.id, vectors)
        if (!usable) await tx.outbox.add(record.id, now_ms)
        await audit(call, tx, [record.id])
        return answer(record, usable)
      }
    }).catch((error: unknown) => {
      // Two imports of one key at once: the other one won.
      if (isStorageError(error, 'conflict') && given.source_key !== null) return recordDecision.handle(call, given)
      throw error
    })
  },
})
