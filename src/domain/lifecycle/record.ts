/** The record service: checks the input, builds the record, applies policy, embeds it, and commits everything in one transaction. */

import { CstpError, invalidParams } from '../../../sdk/errors.ts'
import type { DecisionRecord, Deliberation } from '../../../sdk/schema/decision.ts'
import type { RecordParams, RecordResult } from '../../../sdk/schema/record.ts'
import { readDecision, readDecisions } from '../../../sdk/storage/decisions.ts'
import { isStorageError } from '../../../sdk/storage/errors.ts'
import type { DecisionWriter } from '../../../sdk/storage/store.ts'
import { audit } from '../../core/audit.ts'
import type { Caller } from '../../core/caller.ts'
import type { Log } from '../../core/log.ts'
import { instantMs, timestamp } from '../../core/time.ts'
import { type Action, assumedStakes, contextProblem } from '../policy/rules/action.ts'
import type { Evaluation } from '../policy/rules/evaluate.ts'
import { stateId } from '../record/act-ids.ts'
import { committedAt, type Draft, newRecord, pathOf, requireSize } from '../record/decision/decision.ts'
import { type Commit, once, type Replayable } from '../record/decision/idempotency.ts'
import { requireUnerased, type SourceMark } from '../record/decision/tombstone.ts'
import {
  markGiven,
  type Nearness,
  relationsOf,
  sessionOf,
  takeSession,
  trackedIds,
} from '../record/deliberation/inputs.ts'
import type { Session } from '../record/deliberation/sessions.ts'
import type { Tracker } from '../record/deliberation/tracker.ts'
import { type EmbeddingCall, embedInTime, keepVectors } from '../search/embeddings.ts'
import {
  type Approved,
  checkRecord,
  keptVerdict,
  presentVerdict,
  type RecordPolicyCall,
  settlingRefusal,
} from './record-policy.ts'

/** What recording needs from a call. */
export interface RecordCall extends RecordPolicyCall, EmbeddingCall {
  caller: Caller
  log: Log
  sourceMark: SourceMark
  tracker: Pick<Tracker, 'flush' | 'peek' | 'consume'>
  randomHex(bytes: number): string
}

/** Records a decision, once per idempotency key and once per source key. @throws RecordBlocked */
export async function record(call: RecordCall, given: RecordParams): Promise<RecordResult> {
  const origin = originOf(call, given)
  const marked = origin.imported ? given : { ...given, ...markGiven(given) }
  const context = given.action_context
  const problem = contextProblem(context)
  if (problem) throw invalidParams({ path: 'action_context', ...problem })
  try {
    // A request that states the assumed stakes is the same as one that leaves them out.
    const request = { ...given, stakes: given.stakes ?? assumedStakes }
    const prepare = () => prepareRecord(call, marked, origin, context)
    const result = await recordOnce(call, given.idempotency_key, request, prepare)
    if (!result.replayed || origin.imported || call.record_guardrails === 'off') return result
    const before = await readDecision(call.store.decisions, result.decision_id)
    return before ? { ...result, present: await presentVerdict(call, before.record, given) } : result
  } catch (error) {
    // A concurrent import of the same source key was first: this one finds its record.
    if (isStorageError(error, 'conflict') && given.source_key !== null) return record(call, given)
    throw error
  }
}

/** Like {@link once} and {@link settlingRefusal}. */
export const recordOnce = <T extends object>(...request: Parameters<typeof once<T>>): Promise<Replayable<T>> =>
  settlingRefusal(() => once<T>(...request))

interface Origin {
  /** True if it was decided before: no rules are checked, and no deliberation is consumed. */
  imported: boolean
  created_ms: number
  /** What observed the decision, if no agent recorded it: it is judged but never refused, and leaves the deliberation to the agent's own. */
  source?: 'hook'
}

const importFields = ['created_at', 'recorded_by', 'source_key', 'confidence_at_record'] as const
const requiredUnlessImported = [
  ['confidence', 'a number from 0 to 1'],
  ['category', 'text of 1 to 64 characters'],
] as const
const firstMs = Date.parse('0000-01-01T00:00:00Z')

/** Checks the import fields, which only an administrator may give, and returns when the decision was made and whether it was imported. */
function originOf(call: RecordCall, given: RecordParams): Origin {
  // A null of confidence_at_record says something too: that the decision is not scored.
  const used = importFields.filter((field) => given[field] !== (field === 'confidence_at_record' ? undefined : null))
  if (used.length > 0 && !call.caller.scopes.has('admin')) {
    throw new CstpError('forbidden', `${used.join(', ')}: the import fields need the scope admin`, { scope: 'admin' })
  }
  for (const [path, expected] of requiredUnlessImported)
    if (given[path] === null && used.length === 0)
      throw invalidParams({ path, message: `expected ${expected}`, expected, received: 'null' })
  const now_ms = call.now()
  const { created_at } = given
  if (created_at === null) return { imported: used.length > 0, created_ms: now_ms }
  const created_ms = instantMs(created_at)
  const expected = 'an RFC 3339 time or a day, not in the future'
  // A time zone may move the first day into the year before 0, which an id can't express.
  if (created_ms === null || created_ms < firstMs || created_ms > now_ms) {
    const received = created_at.slice(0, 100)
    throw invalidParams({ path: 'created_at', message: `expected ${expected}`, expected, received })
  }
  return { imported: true, created_ms }
}

/** Source key of a decision that a commit made. */
const commitKey = /^git:(?:[0-9a-f]{40}|[0-9a-f]{64})$/
const sourceOf = (source: Origin['source'], source_key: string | null): Pick<Draft, 'source'> => {
  if (source !== undefined) return { source }
  return source_key !== null && commitKey.test(source_key) ? { source: 'git' } : {}
}

function draftOf({ caller, now }: RecordCall, given: RecordParams, { imported, source }: Origin): Draft {
  const {
    decision_id: _,
    idempotency_key: __,
    created_at,
    action_context: ___,
    scope: ____,
    recorded_by,
    ...rest
  } = given
  return {
    ...rest,
    stakes: given.stakes ?? assumedStakes,
    tags: [...new Set(given.tags)],
    deliberation: given.deliberation as Deliberation | null,
    recorded_by: recorded_by ?? caller.agent,
    imported_by: imported ? caller.agent : null,
    ...sourceOf(source, given.source_key),
    ...(created_at !== null && { recorded_at: timestamp(now()) }),
  }
}

/**
 * Does all work that must not run in the record's transaction, and returns the part that must.
 * @param context the action's context, for rules
 * @param approved the verdict that allowed this action just before
 * @throws RecordBlocked, here or in the transaction
 */
export async function prepareRecord(
  call: RecordCall,
  given: RecordParams,
  origin: Origin = { imported: false, created_ms: call.now() },
  context: Action['context'] = {},
  approved: Approved | null = null,
): Promise<Commit<RecordResult>> {
  const existing = await ofSource(call, call.store.decisions, given.source_key)
  if (existing) return async () => existing
  if (given.source_key !== null) await requireUnerased(call.store.keyed, call.sourceMark, given.source_key)
  const { imported, created_ms } = origin
  const isObserved = origin.source !== undefined
  const draft = draftOf(call, given, origin)
  // A decision that is recorded when it is made is as old as its record.
  const now_ms = draft.recorded_at === undefined ? created_ms : Date.parse(draft.recorded_at)
  const id_suffix = call.randomHex(6)
  const build = (session: Session | null) =>
    newRecord(draft, created_ms, now_ms, id_suffix, session && takeSession(draft, session))
  const name = sessionOf(call, { agent_id: given.agent_id, tracker_scope: given.decision_id })
  await call.tracker.flush()
  // Rules see the record with its agent's session, which the transaction then consumes.
  const noted = imported ? null : await call.tracker.peek(name)
  const planned = requireSize(build(noted))
  const { made, policy } = await embedWhileChecking(call, planned, async () =>
    // An import was decided long ago: no rule checks it, and no breaker uses it as its trial.
    imported
      ? null
      : await checkRecord(
          call,
          planned,
          { context, stakes: given.stakes ?? null, scope: given.scope },
          { approved, isObserved },
        ),
  )
  const nearness = await nearnessOf(call, made?.vectors.both ?? null, noted)
  return async (tx) => {
    const other = await ofSource(call, tx.decisions, given.source_key)
    if (other) return other
    if (given.source_key !== null) await requireUnerased(tx.keyed, call.sourceMark, given.source_key)
    await approved?.useGrants(tx)
    const settled = (await policy?.settle(tx)) ?? null
    const session = imported || isObserved ? null : await call.tracker.consume(tx, name, planned.id)
    const built = committedAt(inputIds(session) === inputIds(noted) ? planned : build(session), call.now())
    const relations = session && relationsOf(session, built.id, built.updated_at, nearness)
    const verdict = keptVerdict(settled, approved)
    // The unchanged object has its JSON text cached already.
    const whole = relations === null && verdict === null ? built : { ...built, ...relations, verdict }
    await tx.decisions.put(requireSize(whole), 0)
    const indexed = await keepVectors(tx, call, whole.id, made?.vectors ?? null)
    await policy?.recorded(tx)
    if (!settled) await audit(call, tx, [whole.id])
    const result = resultOf(call, whole, { indexed, evaluation: settled, session })
    if (!made?.bridge_too_far) return result
    const message = `${result.message}. The bridge is far from the decision's own text: it is searched beside the text, with less weight`
    return { ...result, bridge_too_far: true, message }
  }
}

/**
 * Embeds a record and checks it, concurrently if no text leaves the process: rules often need the vector of one of these texts, and the
 * others are computed while the rules run. Text is sent to another service only once rules allow the record.
 * @throws what `check` throws
 */
async function embedWhileChecking<T>(call: RecordCall, planned: DecisionRecord, check: () => Promise<T>) {
  const unneeded = new AbortController()
  const embed = () => embedInTime(call, planned.id, planned, unneeded.signal)
  const early = call.embedder.in_process ? embed() : null
  try {
    const policy = await check()
    return { policy, made: await (early ?? embed()) }
  } catch (error) {
    unneeded.abort()
    throw error
  }
}

/** How far the agent's hits are from its decision. A failing index does not fail the record. */
async function nearnessOf(
  { index, embedder: { id, noise_distance } }: RecordCall,
  vector: Float32Array | null,
  session: Session | null,
): Promise<Nearness> {
  const ids = session === null ? [] : trackedIds(session)
  if (vector === null || ids.length === 0) return { distances: null, noise_distance }
  const distances = await index.distances({ vector, embedder: id, side: 'both', ids }).catch(() => null)
  return { distances, noise_distance }
}

const inputIds = (session: Session | null): string | undefined => session?.inputs.map(({ id }) => id).join(' ')

/** The answer if the source key was recorded before; else null. */
async function ofSource(
  call: RecordCall,
  decisions: Pick<DecisionWriter, 'get' | 'find'>,
  source_key: string | null,
): Promise<RecordResult | null> {
  const ids = source_key === null ? [] : await decisions.find({ source_key })
  const [found] = ids.length === 0 ? [] : await readDecisions(decisions, ids)
  return found ? resultOf(call, found.record, { indexed: found.indexed, existing: true }) : null
}

function resultOf(
  { store }: RecordCall,
  record: DecisionRecord,
  {
    indexed,
    existing = false,
    evaluation = null,
    session = null,
  }: { indexed: boolean; existing?: boolean; evaluation?: Evaluation | null | undefined; session?: Session | null },
): RecordResult {
  return {
    success: true,
    decision_id: record.id,
    record_id: stateId(record.id, 1),
    ...(store.decision_files && { path: pathOf(record.id) }),
    indexed,
    existing,
    guardrails_checked: evaluation !== null,
    guardrail_warnings: evaluation === null ? [] : [...evaluation.violations, ...evaluation.warnings],
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
