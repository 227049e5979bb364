/** Precedents, verdict and calibration in one call, then the record if the action is allowed. */
import * as v from 'valibot'
import { invalidParams } from '../../../sdk/errors.ts'
import { nonEmptyText, Reason, text } from '../../../sdk/schema/decision.ts'
import { trackedParams, whole } from '../../../sdk/schema/params.ts'
import { ActionParams, type Violation } from '../../../sdk/schema/policy.ts'
import { RecordParams, type RecordResult } from '../../../sdk/schema/record.ts'
import { audit } from '../../core/audit.ts'
import { failureLevel } from '../../core/log.ts'
import { precedentsOf, publishedOf, publishedPrecedents } from '../learn/memory/precedents.ts'
import { calibrationContext } from '../learn/memory/profile.ts'
import { GrantsUsed, prepareJudgement } from '../policy/judge/judge.ts'
import { toAction } from '../policy/judge/request.ts'
import { namesOf, projectOf } from '../policy/rules/action.ts'
import { inScope } from '../policy/rules/compiled.ts'
import { checkInput, noteInput, queryInput, type TrackedCall } from '../record/deliberation/inputs.ts'
import type { PublishedTools } from '../search/published.ts'
import { precedents } from '../search/search.ts'
import {
  answerOf,
  type Check,
  type Checks,
  type Found,
  notEvaluated,
  type PreActionResult,
} from './pre-action-answer.ts'
import { prepareRecord, type RecordCall, recordOnce } from './record.ts'
import { presentOf, RecordBlocked } from './record-policy.ts'

const d = v.description

export const PreActionParams = v.object({
  action: v.pipe(ActionParams, d('What the agent intends to do; its description becomes the decision.')),
  options: v.pipe(
    v.optional(
      v.object({
        query_limit: v.pipe(v.optional(whole(1, 50), 5), d('Maximum number of precedents.')),
        auto_record: v.pipe(v.optional(v.boolean(), true), d('Record the decision if it is allowed.')),
        include_patterns: v.pipe(
          v.optional(v.boolean(), true),
          d('Return the most frequent patterns of the precedents.'),
        ),
      }),
      {},
    ),
    d('Options in addition to the checks.'),
  ),
  reasons: v.optional(v.pipe(v.array(Reason), v.maxLength(100, 'at most 100 entries')), () => []),
  tags: v.optional(v.pipe(v.array(nonEmptyText(64)), v.maxLength(50, 'at most 50 entries')), () => []),
  pattern: v.nullish(text(10_000), null),
  project: RecordParams.entries.project,
  ...trackedParams,
  idempotency_key: v.pipe(
    v.nullish(nonEmptyText(256), null),
    d('The same key within 24 hours returns the first result, if it recorded a decision.'),
  ),
})
export type PreActionParams = v.InferOutput<typeof PreActionParams>

interface PreActionCall extends RecordCall, PublishedTools {
  tracker: RecordCall['tracker'] & TrackedCall['tracker']
}

/** Runs all checks, and records the action if they allow it and the caller asks for it. */
export async function preAction(call: PreActionCall, params: PreActionParams): Promise<PreActionResult> {
  const { answer, found } = await checkAndRecord(call, params)
  // Beside the answer that is kept for a repetition: what other workspaces publish is theirs to erase.
  return { ...answer, ...publishedOf(found?.published ?? []) }
}

type Answered = { answer: PreActionResult; found: Found | null }

async function checkAndRecord(call: PreActionCall, params: PreActionParams): Promise<Answered> {
  const start = call.elapsed()
  const given = united(params)
  if (given.options.auto_record) recordParams(given)
  const duration_ms = () => Math.round(call.elapsed() - start)
  if (!given.options.auto_record) {
    const checked = await runChecks(call, given)
    return { answer: answerOf(given, checked, null, [], duration_ms()), found: checked.found }
  }
  let checks: Checks = { verdict: notEvaluated, useGrants: async () => {}, found: null, calibration: null }
  const answer = (record: RecordResult | null, blocked: readonly Violation[] = []) =>
    answerOf(allowedOf(given, checks.verdict), checks, record, blocked, duration_ms())
  try {
    const result = await recordOnce(call, given.idempotency_key, given, async () => {
      checks = await runChecks(call, given)
      // Without a record the key stays unused: the same call may be allowed later.
      if (!checks.verdict.allowed) return { unkept: answer(null) }
      const allowed = allowedOf(given, checks.verdict)
      const before = {
        ...checks.verdict,
        record_id: checks.verdict.record_id ?? '',
        original: allowed === given ? undefined : given.action,
        useGrants: checks.useGrants,
      }
      const commit = await prepareRecord(call, recordParams(allowed), undefined, allowed.action.context, before)
      return async (tx) => answer(await commit(tx))
    })
    // The action was recorded before; whether it is allowed now is checked separately.
    if (!result.replayed) return { answer: result, found: checks.found }
    const present = presentOf((await checkAction(call, given, 'dry_run')).verdict)
    return { answer: { ...result, present }, found: null }
  } catch (error) {
    // A concurrent call has consumed the same grant, so this one needs its own.
    if (error instanceof GrantsUsed) return checkAndRecord(call, params)
    if (!(error instanceof RecordBlocked)) throw error
    const { verdict, approval, violations } = error.evaluation
    checks = { ...checks, verdict: { ...checks.verdict, verdict, approval: approval ?? checks.verdict.approval } }
    return { answer: answer(null, violations), found: checks.found }
  }
}

/** Merges tags and project of the call into the action's, so that what is checked is what is recorded. @throws CstpError `invalid_params` if they name two projects or pull requests */
function united({ action, tags, project, ...rest }: PreActionParams): PreActionParams {
  const one = <T extends string | number>(
    field: 'project' | 'pr',
    other: string,
    own: T | null,
    of: T | null,
  ): T | null => {
    if (own !== null && of !== null && own !== of) {
      const expected = `the same as ${other}, ${JSON.stringify(of)}`
      throw invalidParams({ path: `action.${field}`, message: `expected ${expected}`, expected, received: String(own) })
    }
    return own ?? of
  }
  const named = one('project', 'project.name', action.project, project?.name ?? null)
  const name = projectOf({ project: named, context: action.context })
  const pr = one('pr', 'project.pr', action.pr, project?.pr ?? null)
  const none = name === null && pr === null && project === null
  return {
    ...rest,
    action: { ...action, tags: [...new Set([...action.tags, ...tags])], project: name, pr },
    tags: [],
    project: none ? null : { feature: null, files: [], ...project, name, pr },
  }
}

/** The call that is allowed: as given, or with the action as modified by rules. */
function allowedOf(given: PreActionParams, { modified_action }: Pick<Check, 'modified_action'>): PreActionParams {
  if (modified_action === null) return given
  // It comes from the schema of an action, with null for fields that were not given.
  const action = modified_action as Omit<ActionParams, 'stakes'> & { stakes: ActionParams['stakes'] | null }
  const { project: name, pr } = action
  const project = given.project && { ...given.project, name, pr }
  return united({ ...given, action: { ...action, stakes: action.stakes ?? undefined }, project })
}

/** The parameters with which the action is recorded. */
function recordParams({ action, reasons, pattern, project, agent_id, tracker_scope }: PreActionParams): RecordParams {
  const { description, category, confidence, stakes } = action
  const parsed = v.safeParse(RecordParams, {
    decision: description,
    category,
    confidence,
    stakes,
    context: Object.keys(action.context).length > 0 ? JSON.stringify(action.context) : null,
    scope: action.scope,
    reasons,
    tags: action.tags,
    pattern,
    project,
    agent_id,
    decision_id: tracker_scope,
    pre_decision_protocol: { query_run: true, guardrails_checked: true },
  })
  if (parsed.success) return parsed.output
  // Each list is valid by itself, but together they can be too long.
  const [issue] = parsed.issues
  const { message, received } = issue
  throw invalidParams({ path: v.getDotPath(issue) ?? '', message, expected: issue.expected ?? message, received })
}

/** Runs the three checks concurrently, and notes query and verdict for the agent's next record, which may be this call's own. */
async function runChecks(call: PreActionCall, given: PreActionParams): Promise<Checks> {
  const { action, options } = given
  const [{ verdict, useGrants }, found, calibration] = await Promise.all([
    checkAction(call, given, options.auto_record ? 'hold' : 'enforce'),
    orNull(call, 'precedents could not be searched', findPrecedents(call, action.description, options.query_limit)),
    orNull(call, 'calibration could not be read', calibrationContext(call.store, call.caller.agent, action.category)),
  ])
  if (found) noteInput(call, given, queryInput(action.description, found.hits))
  if (verdict !== notEvaluated) noteInput(call, given, checkInput(action.description, verdict))
  return { verdict, useGrants, found, calibration }
}

async function findPrecedents(call: PreActionCall, description: string, limit: number): Promise<Found> {
  const [found, published] = await Promise.all([
    precedents(call, description, limit),
    publishedPrecedents(call, description, limit),
  ])
  return { ...found, published, shown: await precedentsOf(call.store.decisions, found) }
}

/** The result of a check; a failure is logged and gives null, which the answer shows. */
async function orNull<T>(call: PreActionCall, message: string, work: Promise<T>): Promise<T | null> {
  try {
    return await work
  } catch (error) {
    call.log(failureLevel(error, call), message, { request_id: call.request_id, error: String(error) })
    return null
  }
}

/** The verdict on the action; without one, it is not allowed. */
async function checkAction(
  call: PreActionCall,
  { action: given, agent_id, reasons }: PreActionParams,
  mode: 'enforce' | 'hold' | 'dry_run',
): Promise<Pick<Checks, 'verdict' | 'useGrants'>> {
  const action = { ...toAction(call.caller.agent, given, 'pre_action'), reason_count: reasons.length }
  try {
    const claims = agent_id == null ? undefined : { agent_id }
    const judgement = await prepareJudgement(call, { action, claims })
    const settled = await call.store.transaction((tx) => judgement.settle(tx, mode))
    return {
      verdict: { ...settled, rules: judgement.set.rules.filter(({ scopes }) => inScope(scopes, namesOf(action))) },
      useGrants: judgement.useGrants,
    }
  } catch (error) {
    call.log(failureLevel(error, call), 'guardrails could not be evaluated', {
      request_id: call.request_id,
      error: String(error),
    })
    const { guardrail_id } = notEvaluated.violations[0]!
    // If the store is what failed, this row can't be written either; the action stays refused.
    await call.store.transaction((tx) => audit(call, tx, [], null, [guardrail_id])).catch(() => {})
    return { verdict: notEvaluated, useGrants: async () => {} }
  }
}
