/** cstp.preAction: precedents, verdict and calibration in one call, then the record when all is well. */
import * as v from 'valibot'
import { invalidParams } from '../../sdk/errors.ts'
import { Interpretation } from '../../sdk/schema/calibration.ts'
import { filledText, Reason, text } from '../../sdk/schema/decision.ts'
import { trackedParams, whole } from '../../sdk/schema/params.ts'
import { Violation } from '../../sdk/schema/policy.ts'
import { RecordParams, type RecordResult } from '../../sdk/schema/record.ts'
import { audit, type Call } from '../context.ts'
import type { CompiledRule } from '../domain/guardrail/evaluate.ts'
import { guardOf } from '../domain/guardrail/guard.ts'
import type { Judgement } from '../domain/guardrail/judge.ts'
import { calibrationContext } from '../domain/profile.ts'
import { type SearchResult, search } from '../domain/search.ts'
import { checkInput, queryInput, track } from '../domain/track.ts'
import { defineMethod, toolInput } from '../method.ts'
import { ActionParams, noRules, toAction } from './checkGuardrails.ts'
import { hitOf, QueryHit } from './queryDecisions.ts'
import { prepareRecord, RecordBlocked, recordOnce } from './recordDecision.ts'

const d = v.description

const params = v.object({
  action: v.pipe(ActionParams, d('What the agent intends to do; its description becomes the decision.')),
  options: v.pipe(
    v.optional(
      v.object({
        query_limit: v.pipe(v.optional(whole(1, 50), 5), d('Most precedents.')),
        auto_record: v.pipe(v.optional(v.boolean(), true), d('Record the decision when it is allowed.')),
        include_patterns: v.pipe(v.optional(v.boolean(), true), d('Count the patterns of the precedents.')),
      }),
      {},
    ),
    d('What to do beside judging.'),
  ),
  reasons: v.optional(v.pipe(v.array(Reason), v.maxLength(100, 'at most 100 entries')), () => []),
  tags: v.optional(v.pipe(v.array(filledText(64)), v.maxLength(50, 'at most 50 entries')), () => []),
  pattern: v.nullish(text(10_000), null),
  project: RecordParams.entries.project,
  ...trackedParams,
  idempotency_key: v.pipe(
    v.nullish(filledText(256), null),
    d('The same key within 24 hours returns the first result, where that recorded a decision.'),
  ),
})
type Params = v.InferOutput<typeof params>

const CalibrationContext = v.object({
  reviewed_decisions: v.pipe(v.number(), d("Reviewed decisions behind the figures: the caller's own.")),
  brier_score: v.pipe(v.nullable(v.number()), d('Brier score; null with fewer than five scored.')),
  accuracy: v.pipe(v.nullable(v.number()), d('Mean result.')),
  calibration_gap: v.pipe(v.nullable(v.number()), d('Accuracy less mean confidence.')),
  interpretation: v.pipe(Interpretation, d('What the gap means.')),
  suggestion: v.pipe(v.nullable(v.string()), d('How to state confidence this time.')),
})
type CalibrationContext = v.InferOutput<typeof CalibrationContext>

interface Verdict extends Pick<Judgement, 'allowed' | 'violations' | 'warnings' | 'evaluated'> {
  rules: readonly CompiledRule[]
}

const notEvaluated: Verdict = {
  allowed: false,
  violations: [
    {
      guardrail_id: 'guardrails_unavailable',
      name: 'Guardrails could not be evaluated',
      message: 'The guardrails could not be evaluated, so the action is not allowed',
      severity: 'block',
      suggestion: 'Try again; if it stays so, ask an operator',
      error: 'evaluation failed',
    },
  ],
  warnings: [],
  evaluated: 0,
  rules: [],
}

/** The verdict; when it can't be had, the action is not allowed. */
async function verdictOf(call: Call, given: Params): Promise<Verdict> {
  const { action: inner, agent_id } = given
  const tags = [...new Set([...inner.tags, ...given.tags])]
  const project = inner.project ?? given.project?.name ?? null
  const action = {
    ...toAction(call, { ...inner, tags, project }, 'pre_action'),
    reason_count: given.reasons.length,
  }
  try {
    const policy = await call.policy.current()
    const guard = guardOf(call, policy, {
      category: inner.category,
      stakes: inner.stakes,
      tags,
      project,
      agent: call.caller.agent,
    })
    const judgement = await guard.judge(action)
    const claims = agent_id == null ? {} : { claims: { agent_id } }
    await call.store.transaction((tx) => guard.audit(tx, action, judgement, claims))
    return { ...judgement, rules: policy.rules }
  } catch (error) {
    call.log('error', 'guardrails could not be evaluated', { request_id: call.request_id, error: String(error) })
    const { guardrail_id } = notEvaluated.violations[0]!
    // Where the store is what failed, this line can't be written either; the answer stays no.
    await call.store.transaction((tx) => audit(call, tx, [], null, [guardrail_id])).catch(() => {})
    return notEvaluated
  }
}

/** Precedents of the action; null when they can't be had. */
async function precedentsOf(call: Call, { action, options }: Params): Promise<SearchResult | null> {
  try {
    return await search(call, {
      query: action.description,
      mode: 'hybrid',
      side: 'both',
      weight: 0.7,
      filter: {},
      offset: 0,
      limit: options.query_limit,
    })
  } catch (error) {
    call.log('error', 'precedents could not be searched', { request_id: call.request_id, error: String(error) })
    return null
  }
}

/** The caller's own calibration; null when it can't be had. */
async function calibrationOf(call: Call, { action }: Params): Promise<CalibrationContext | null> {
  try {
    return await calibrationContext(call.store, call.caller.agent, action.category)
  } catch (error) {
    call.log('error', 'calibration could not be read', { request_id: call.request_id, error: String(error) })
    return null
  }
}

interface Legs {
  verdict: Verdict
  found: SearchResult | null
  calibration: CalibrationContext | null
}

/** Leaves what was asked for the agent's next record, which may be this call's own. */
function leave(call: Call, given: Params, { verdict, found }: Legs): void {
  const { description } = given.action
  if (found) track(call, given, queryInput(description, found.hits))
  if (verdict !== notEvaluated) track(call, given, checkInput(description, verdict))
}

/** How often each pattern stands among the precedents. */
function patternsOf(found: SearchResult): { pattern: string; count: number; example_ids: string[] }[] {
  const seen = new Map<string, string[]>()
  for (const { record } of found.hits)
    if (record.pattern) seen.set(record.pattern, [...(seen.get(record.pattern) ?? []), record.id])
  return [...seen]
    .map(([pattern, ids]) => ({ pattern, count: ids.length, example_ids: ids.slice(0, 3) }))
    .sort((a, b) => b.count - a.count || (a.pattern < b.pattern ? -1 : 1))
}

/** What the action is recorded as. */
function recordParams({ action, reasons, tags, pattern, project, agent_id, tracker_scope }: Params): RecordParams {
  const { description, category, confidence, stakes } = action
  const parsed = v.safeParse(RecordParams, {
    decision: description,
    category: category ?? assumed.category,
    confidence: confidence ?? assumed.confidence,
    stakes,
    reasons,
    tags: [...new Set([...action.tags, ...tags])],
    pattern,
    project: project ?? action.project,
    agent_id,
    decision_id: tracker_scope,
    pre_decision_protocol: { query_run: true, guardrails_checked: true },
  })
  if (parsed.success) return parsed.output
  // Each is right in itself; together they can be too many.
  const [issue] = parsed.issues
  const { message, received } = issue
  throw invalidParams({ path: v.getDotPath(issue) ?? '', message, expected: issue.expected ?? message, received })
}

/** What a record says where the caller did not. */
const assumed = { category: 'uncategorized', confidence: 0.5 }

/** A warning for a record that says more than the caller did; null where it does not. */
function assumption({ category, confidence }: Params['action']): Judgement['warnings'][number] | null {
  const parts = [
    ...(category === null ? [`category ${assumed.category}`] : []),
    ...(confidence === null ? [`confidence ${assumed.confidence}`] : []),
  ]
  if (parts.length === 0) return null
  return {
    guardrail_id: 'defaults_assumed',
    name: 'Recorded with defaults',
    message: `Recorded with ${parts.join(' and ')}, as none was given`,
    severity: 'warn',
    suggestion: 'Say how sure you are and what it is about, so that calibration and search can use it',
    error: null,
  }
}

const unavailable = (what: string): Judgement['warnings'][number] => ({
  guardrail_id: `${what}_unavailable`,
  name: `${what} unavailable`,
  message: `The ${what} could not be had for this answer`,
  severity: 'warn',
  suggestion: 'Try again',
  error: null,
})

export const preAction = defineMethod({
  summary:
    'Asks for precedents, checks the guardrails and gives the calibration in one call; records the decision when it is allowed.',
  params,
  result: v.object({
    allowed: v.boolean(),
    decision_id: v.pipe(
      v.nullable(v.string()),
      d('The recorded decision; null when it was blocked or not to be recorded.'),
    ),
    relevant_decisions: v.pipe(v.array(QueryHit), d('Precedents, best first.')),
    guardrail_results: v.pipe(
      v.array(
        v.object({
          guardrail_id: v.string(),
          status: v.picklist(['pass', 'warn', 'block']),
          message: v.string(),
          suggestion: v.nullable(v.string()),
        }),
      ),
      d('One entry for each rule: those that fired first.'),
    ),
    violations: v.array(Violation),
    warnings: v.array(Violation),
    calibration_context: v.pipe(CalibrationContext, d('How well decisions like this one were judged before.')),
    patterns_summary: v.pipe(
      v.array(v.object({ pattern: v.string(), count: v.number(), example_ids: v.array(v.string()) })),
      d('Patterns of the precedents, the most frequent first.'),
    ),
    block_reasons: v.pipe(v.array(v.string()), d('Messages of the violations.')),
    query_time_ms: v.number(),
  }),
  scope: 'write',
  mcp: {
    name: 'pre_action',
    title: 'Decide and record',
    description:
      'The standard way to decide: call it once before you act. It finds precedents, checks the guardrails, gives your calibration, and, when allowed, records the decision (auto_record) with what you asked and thought before. Act only with `allowed: true`; keep `decision_id` for review_outcome.',
    input: toolInput(
      v.object({
        description: v.pipe(ActionParams.entries.description, d('What you intend to do; it becomes the decision.')),
        category: ActionParams.entries.category,
        stakes: ActionParams.entries.stakes,
        confidence: v.pipe(ActionParams.entries.confidence, d('How sure you are that it will turn out well, 0 to 1.')),
        context: ActionParams.entries.context,
        reasons: v.pipe(params.entries.reasons, d('Why.')),
        tags: v.pipe(params.entries.tags, d('Tags for finding it again.')),
        pattern: v.pipe(params.entries.pattern, d('The abstract principle behind it.')),
        project: v.optional(v.pipe(filledText(256), d('Project, as owner/repo.'))),
        auto_record: v.pipe(v.optional(v.boolean(), true), d('Record the decision when it is allowed.')),
        query_limit: v.pipe(v.optional(whole(1, 50), 5), d('Most precedents.')),
        agent_id: trackedParams.agent_id,
        idempotency_key: params.entries.idempotency_key,
      }),
      ({ description, category, stakes, confidence, context, auto_record, query_limit, ...rest }) => ({
        action: { description, category, stakes, confidence, context },
        options: { auto_record, query_limit },
        ...rest,
      }),
    ),
  },
  failure: 'guardrail_eval_failed',
  async handle(call, given) {
    const start = call.elapsed()
    const params = given.options.auto_record ? recordParams(given) : null
    let legs: Legs = { verdict: notEvaluated, found: null, calibration: null }
    const ask = async () => {
      const [verdict, found, calibration] = await Promise.all([
        verdictOf(call, given),
        precedentsOf(call, given),
        calibrationOf(call, given),
      ])
      legs = { verdict, found, calibration }
      leave(call, given, legs)
    }
    const answer = (record: RecordResult | null, blocked: readonly Judgement['violations'][number][] = []) =>
      answerOf(given, legs, record, blocked, call.elapsed() - start)
    if (params === null) {
      await ask()
      return answer(null)
    }
    try {
      return await recordOnce(call, given.idempotency_key, given, async () => {
        await ask()
        // Without a record no key is used up: the same call may be allowed later.
        if (!legs.verdict.allowed) throw new RecordBlocked([], async () => {})
        const record = await prepareRecord(call, params, given.action.context)
        return async (tx) => answer(await record(tx))
      })
    } catch (error) {
      if (error instanceof RecordBlocked) return answer(null, error.violations)
      throw error
    }
  },
})

/** @param blocked violations of rules that stopped only the record */
function answerOf(
  given: Params,
  { verdict, found, calibration }: Legs,
  record: RecordResult | null,
  blocked: readonly Judgement['violations'][number][],
  duration_ms: number,
) {
  const violations = [...verdict.violations, ...blocked]
  const known = new Set([...violations, ...verdict.warnings].map(({ guardrail_id }) => guardrail_id))
  const assumptions = record && assumption(given.action)
  const warnings = [
    ...(verdict.allowed && verdict.evaluated === 0 ? [noRules] : []),
    ...verdict.warnings,
    // What only the record is warned of: rules that look at its quality, or its phase.
    ...(record?.guardrail_warnings ?? []).filter(({ guardrail_id }) => !known.has(guardrail_id)),
    ...(assumptions ? [assumptions] : []),
    ...(found ? [] : [unavailable('precedents')]),
    ...(calibration ? [] : [unavailable('calibration')]),
  ]
  const fired = [...violations, ...warnings].map(({ guardrail_id, severity, message, suggestion }) => ({
    guardrail_id,
    status: severity,
    message,
    suggestion,
  }))
  const named = new Set(fired.map(({ guardrail_id }) => guardrail_id))
  const passed = verdict.rules
    .filter(({ rule }) => !named.has(rule.id))
    .map(({ rule: { id, description } }) => ({
      guardrail_id: id,
      status: 'pass' as const,
      message: description ?? id,
      suggestion: null,
    }))
  return {
    allowed: violations.length === 0,
    decision_id: record?.decision_id ?? null,
    relevant_decisions: found?.hits.map(hitOf) ?? [],
    guardrail_results: [...fired, ...passed],
    violations,
    warnings,
    calibration_context: calibration ?? noCalibration,
    patterns_summary: found && given.options.include_patterns ? patternsOf(found) : [],
    block_reasons: violations.map(({ message }) => message),
    query_time_ms: Math.round(duration_ms),
  }
}

/** What is said where the figures can't be had. */
const noCalibration: CalibrationContext = {
  reviewed_decisions: 0,
  brier_score: null,
  accuracy: null,
  calibration_gap: null,
  interpretation: 'insufficient_data',
  suggestion: null,
}
