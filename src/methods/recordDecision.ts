/** cstp.recordDecision: one decision, durable and searchable when the answer leaves. */
import * as v from 'valibot'
import { CstpError, invalidParams } from '../../sdk/errors.ts'
import { Category, type DecisionRecord, type Deliberation, filledText, Project } from '../../sdk/schema/decision.ts'
import { RecordParams, RecordResult } from '../../sdk/schema/record.ts'
import { isStorageError } from '../../sdk/storage/errors.ts'
import type { Session, Transaction } from '../../sdk/storage/store.ts'
import type { VectorSet } from '../../sdk/storage/vectors.ts'
import { defineMethod, toolInput } from '../calls/method.ts'
import { audit, type Call } from '../calls/services.ts'
import { instantMs } from '../core/time.ts'
import { embedBridge } from '../domain/decision/bridge.ts'
import { type Draft, newRecord, pathOf } from '../domain/decision/decision.ts'
import { once } from '../domain/decision/idempotency.ts'
import { withSession } from '../domain/deliberation/deliberation.ts'
import { sessionOf } from '../domain/deliberation/tracker.ts'
import type { Action } from '../domain/guardrail/action.ts'
import { recordedAction } from '../domain/guardrail/action.ts'
import { subjectOf } from '../domain/guardrail/breaker.ts'
import type { Violation } from '../domain/guardrail/evaluate.ts'
import { type Judgement, openGuard, withBreakers } from '../domain/guardrail/guard.ts'

const d = v.description
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

/** Thrown where policy stops a record; `trail` writes the line of the evaluation, once the record's transaction is gone. */
export class RecordBlocked extends CstpError {
  readonly violations: readonly Violation[]
  readonly trail: () => Promise<void>

  constructor(violations: readonly Violation[], trail: () => Promise<void>) {
    super('record_failed', `Blocked by ${violations.map(({ guardrail_id }) => guardrail_id).join(', ')}`, {
      violations,
    })
    this.violations = violations
    this.trail = trail
  }
}

/** The record's vectors, or null when they are not there in time: what is missing follows through the outbox. */
async function vectorsInTime(call: Call, record: DecisionRecord): Promise<VectorSet | null> {
  try {
    return await embedBridge(
      call.embedder,
      record.bridge,
      AbortSignal.any([call.signal, AbortSignal.timeout(call.embed_wait_ms)]),
    )
  } catch (error) {
    call.log('warn', 'vectors follow later', {
      request_id: call.request_id,
      id: record.id,
      error: error instanceof Error ? error.message : String(error),
    })
    return null
  }
}

/** Keeps the vectors with the record, or a note that they are still to be made. Returns whether it can be found by meaning. */
async function keepVectors(call: Call, tx: Transaction, id: string, vectors: VectorSet | null): Promise<boolean> {
  const generation = await tx.embeddings.active()
  if (generation === null) await tx.embeddings.start(call.embedder.id, call.embedder.effective_dimensions)
  if (vectors !== null) await tx.embeddings.put(id, call.embedder.id, vectors)
  const usable = vectors !== null && (generation === null || generation.embedder === call.embedder.id)
  if (!usable) await tx.outbox.add(id, call.now())
  return usable
}

function answer(
  record: DecisionRecord,
  indexed: boolean,
  existing: boolean,
  judgement: Judgement | null,
  session: Session | null = null,
): RecordResult {
  return {
    success: true,
    decision_id: record.id,
    path: pathOf(record.id),
    indexed,
    existing,
    guardrails_checked: judgement !== null,
    guardrail_warnings: judgement === null ? [] : [...judgement.violations, ...judgement.warnings],
    bridge_auto: record.bridge_method === 'rule',
    deliberation_auto: session !== null,
    deliberation_inputs_count: record.deliberation?.inputs.length ?? 0,
    related_count: record.related_to.length,
    quality: record.quality,
    message: existing
      ? 'This source key was recorded before'
      : indexed
        ? 'Decision recorded'
        : 'Decision recorded; its vectors follow',
  }
}

/**
 * Does all of a record that must not stand in its transaction, and returns the rest.
 * @param context what rules see as the context of the action
 * @throws RecordBlocked, here or in the transaction
 */
export async function prepareRecord(
  call: Call,
  given: RecordParams,
  context: Action['context'] = {},
): Promise<(tx: Transaction) => Promise<RecordResult>> {
  const imported = checkImport(call, given)
  const now_ms = call.now()
  const known = given.source_key === null ? null : await call.store.decisions.idOfSource(given.source_key)
  const first = known === null ? null : await call.store.decisions.get(known)
  if (first) return async () => answer(first.record, first.indexed, true, null)
  const record = newRecord(draftOf(call, given, imported), createdMs(given, now_ms), now_ms, call.randomHex(6))
  // What is imported was decided long ago: it is neither judged nor a breaker's probe.
  const guard = imported ? null : await openGuard(call, subjectOf(record))
  const name = sessionOf(call, { agent_id: given.agent_id, tracker_scope: given.decision_id })
  await call.tracker.flush()
  // Rules see the record as it will be with what its agent left behind; the transaction takes that up.
  const left = imported ? null : await call.tracker.peek(name)
  const action = recordedAction(left === null ? record : withSession(record, left, record.updated_at), context)
  const judgement = guard && call.record_guardrails !== 'off' ? await guard.judge(action) : null
  const strict = call.record_guardrails === 'block'
  const stop = (verdict: Judgement): RecordBlocked =>
    new RecordBlocked(verdict.violations, () => call.store.transaction((tx) => guard!.audit(tx, action, verdict)))
  if (judgement && strict && !judgement.allowed) throw stop(judgement)
  const vectors = await vectorsInTime(call, record)
  return async (tx) => {
    if (given.source_key !== null) {
      const other = await tx.decisions.idOfSource(given.source_key)
      const stored = other === null ? null : await tx.decisions.get(other)
      if (stored) return answer(stored.record, stored.indexed, true, null)
    }
    // Of two records that were judged at once, only one can be the probe.
    const stopped = guard && judgement && strict ? await guard.stopped(tx) : []
    if (judgement && stopped.length > 0) throw stop(withBreakers(judgement, stopped))
    const session = imported ? null : await call.tracker.consume(tx, name, record.id)
    const whole = session === null ? record : withSession(record, session, record.updated_at)
    await tx.decisions.create(whole)
    const indexed = await keepVectors(call, tx, record.id, vectors)
    if (guard) await guard.recorded(tx, record.id)
    if (guard && judgement) await guard.audit(tx, action, judgement, { ids: [record.id], ...claimsOf(given) })
    else await audit(call, tx, [record.id])
    return answer(whole, indexed, false, judgement, session)
  }
}

const claimsOf = ({ agent_id }: RecordParams): { claims?: Record<string, unknown> } =>
  agent_id === null ? {} : { claims: { agent_id } }

/** Runs what `prepareRecord` made, once for each key; a verdict that stops it is in the trail before it is thrown. */
export async function recordOnce<T>(
  call: Call,
  key: string | null,
  params: unknown,
  prepare: () => Promise<(tx: Transaction) => Promise<T>>,
): Promise<T> {
  try {
    return await once(call, key, params, prepare)
  } catch (error) {
    if (error instanceof RecordBlocked) await error.trail()
    throw error
  }
}

const { entries } = RecordParams

/** A decision with its project spelt flat. */
const LogDecision = toolInput(
  v.object({
    decision: entries.decision,
    confidence: entries.confidence,
    category: v.pipe(Category, d('architecture, process, integration, tooling, security, or another one.')),
    stakes: entries.stakes,
    context: entries.context,
    reasons: entries.reasons,
    tags: entries.tags,
    project: v.optional(v.pipe(filledText(256), d('Project, as owner/repo.'))),
    feature: v.optional(v.pipe(filledText(256), d('Feature of the project.'))),
    pr: Project.entries.pr,
    agent_id: entries.agent_id,
    decision_id: entries.decision_id,
  }),
  ({ project: name = null, feature = null, pr, ...rest }) => ({
    ...rest,
    project: name === null && feature === null && pr === null ? null : { name, feature, pr },
  }),
)

export const recordDecision = defineMethod({
  summary: 'Records a decision: durable, indexed by meaning and by keyword.',
  params: RecordParams,
  result: RecordResult,
  scope: 'write',
  effect: 'keyed',
  failure: 'record_failed',
  mcp: {
    name: 'log_decision',
    title: 'Record decision',
    description:
      'Record a decision that was already made and checked. A last resort: use pre_action with auto_record instead, which checks the guardrails first. Queries, checks and thoughts since the last record are attached.',
    input: LogDecision,
  },
  async handle(call, given): Promise<RecordResult> {
    checkImport(call, given)
    createdMs(given, call.now())
    try {
      return await recordOnce(call, given.idempotency_key, given, () => prepareRecord(call, given))
    } catch (error) {
      // Two imports of one key at once: the other one won.
      if (isStorageError(error, 'conflict') && given.source_key !== null) return recordDecision.handle(call, given)
      throw error
    }
  },
})
