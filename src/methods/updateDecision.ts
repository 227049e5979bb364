/** cstp.updateDecision: changes fields of a decision; their earlier values are kept. */
import * as v from 'valibot'
import type { DecisionRecord } from '../../sdk/schema/decision.ts'
import { DecisionId, ThreadId, whole } from '../../sdk/schema/params.ts'
import { BridgeTooFar, RecordUpdates } from '../../sdk/schema/record.ts'
import { byCurators, defineMethod, toolInput } from '../calls/method.ts'
import { audit } from '../core/audit.ts'
import { mayCurate } from '../core/caller.ts'
import { timestamp } from '../core/time.ts'
import { type ProjectUpdate, requireFirst, requireUnmerged, withProject } from '../domain/lifecycle/project.ts'
import { checkUpdate, keptVerdict, settlingRefusal } from '../domain/lifecycle/record-policy.ts'
import {
  enterScopes,
  isTakenUp,
  requireCounted,
  requireUncategorized,
  requireUnreviewed,
  unscoredAdoption,
} from '../domain/lifecycle/update.ts'
import { stateId } from '../domain/record/act-ids.ts'
import { isUnadopted, requireSize } from '../domain/record/decision/decision.ts'
import { given, requireOwn, resolveId } from '../domain/record/decision/lookup.ts'
import { applyUpdate, keepRevision, requireUnchanged, type Updates } from '../domain/record/decision/revisions.ts'
import { sessionOf, takeSession } from '../domain/record/deliberation/inputs.ts'
import type { Session } from '../domain/record/deliberation/sessions.ts'
import { embedInTime, keepVectors } from '../domain/search/embeddings.ts'
import { type Embedded, embeddedTexts } from '../domain/search/searched.ts'

const updates = v.pipe(
  v.object(RecordUpdates),
  v.check((value) => Object.keys(value).length > 0, 'at least one field to change'),
  v.description('Fields to change; `deliberation` can only be extended with recordThought.'),
)

const withSession = (record: DecisionRecord, session: Session | null): DecisionRecord =>
  session === null ? record : { ...record, ...takeSession(record, session) }

const textsOf = (record: Embedded): string => JSON.stringify(embeddedTexts(record))

export const updateDecision = defineMethod({
  summary:
    'Changes fields of a decision that the caller recorded (others: scope curate); earlier values stay in its revisions.',
  params: v.object({
    id: DecisionId,
    updates,
    revision_count: v.optional(
      v.pipe(
        whole(0, Number.MAX_SAFE_INTEGER),
        v.description(
          'The `revision_count` of the record on which the changes are based; nothing is written if the record was updated since.',
        ),
      ),
    ),
  }),
  result: v.object({
    success: v.boolean(),
    id: v.string(),
    record_id: ThreadId,
    applied: v.pipe(v.array(v.string()), v.description('Names of the fields that were changed.')),
    indexed: v.pipe(v.boolean(), v.description('Whether its new text is already in the semantic index.')),
    bridge_too_far: v.optional(BridgeTooFar),
    unscored: v.optional(
      v.pipe(v.string(), v.description('Why the confidence that adopts a decision of a hook enters no score.')),
    ),
  }),
  scope: 'write',
  also: byCurators,
  effect: 'write',
  keeps_texts: true,
  mcp: {
    name: 'update_decision',
    title: 'Update decision',
    // No revision here: forms that stay open for long send it, while a model has just read the record.
    input: toolInput(v.object({ id: DecisionId, updates }), (input) => input),
    description:
      'Change fields of a recorded decision, or set its pull request; earlier values stay in its revisions. To record an outcome, use review_outcome. If you decide differently, record a new decision and link it with `supersedes`.',
    destructive: true,
  },
  async handle(call, params) {
    const id = await resolveId(call.store.decisions, params.id, 'id')
    const { project, ...texts } = given(params.updates) as Omit<Updates, 'project'> & { project?: ProjectUpdate }
    const changesOf = (record: DecisionRecord): Updates => ({
      ...texts,
      ...(project && { project: withProject(record, project) }),
    })
    const updated = (record: DecisionRecord, is_scored?: boolean) =>
      applyUpdate(record, changesOf(record), call.caller.agent, timestamp(call.now()), is_scored)
    const before = await requireOwn(call.store, id, params.id, call.caller)
    const requireOpen = (record: DecisionRecord): void => {
      requireUnchanged(record, params.revision_count)
      requireUnreviewed(record, changesOf(record), call.caller)
      requireUncategorized(record, texts, call.caller)
      if (project) requireFirst(record, project, call.caller)
    }
    requireOpen(before.record)
    const unscored = await unscoredAdoption({ evidence: call.evidence, keyed: call.store.keyed }, before.record, texts)
    if (project) await requireUnmerged(call.evidence, before.record, project, call.caller)
    // What an agent makes of an observed decision is judged as its record, with the deliberation that an adoption takes.
    const isOwnNow = isTakenUp(before.record, texts)
    const session = sessionOf(call, {})
    await (isOwnNow && call.tracker.flush())
    const noted = isOwnNow ? await call.tracker.peek(session) : null
    const planned = updated(withSession(before.record, noted), unscored === null).record
    const plannedTexts = textsOf(planned)
    const isCurated = mayCurate(call.caller) && before.record.recorded_by !== call.caller.agent && !isOwnNow
    return settlingRefusal(async () => {
      // A curator puts the record of others in order, and does nothing that rules stop.
      const policy = isCurated ? null : await checkUpdate(call, { before: before.record, planned, isTakenUp: isOwnNow })
      const made = plannedTexts === textsOf(before.record) ? null : await embedInTime(call, id, planned)
      return call.store.transaction(async (tx) => {
        // Applied to the current record, so that an update committed since then is not lost.
        const now = await requireOwn(tx, id, params.id, call.caller)
        requireOpen(now.record)
        const settled = (await policy?.settle(tx)) ?? null
        const isAdopted = isUnadopted(now.record) && typeof texts.confidence === 'number'
        const taken = withSession(now.record, isAdopted ? await call.tracker.consume(tx, session, id) : null)
        // The time is that of the commit: the vectors may have taken long.
        const { record: next, applied, revision } = updated(taken, unscored === null)
        const { rules } = await call.policy.current()
        requireCounted(rules, now.record, next, { caller: call.caller, now_ms: call.now() })
        const record = settled === null ? next : { ...next, verdict: keptVerdict(settled, null) }
        await tx.decisions.put(requireSize(record), now.revision)
        await enterScopes(call, tx, now.record, record)
        await keepRevision(tx, id, record.revision_count, revision)
        await audit(call, tx, [id], { applied })
        const newTexts = textsOf(record)
        const told = unscored === null ? {} : { unscored }
        const done = { success: true, id, record_id: stateId(id, now.revision + 1), applied, ...told }
        if (newTexts === textsOf(now.record)) return { ...done, indexed: now.indexed }
        await tx.embeddings.put(id, null)
        const fitting = newTexts === plannedTexts ? made : null
        const indexed = await keepVectors(tx, call, id, fitting?.vectors ?? null)
        return { ...done, indexed, ...(fitting?.bridge_too_far && { bridge_too_far: true }) }
      })
    })
  },
})
