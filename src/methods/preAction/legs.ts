/** What preAction asks before it answers: the guardrails, precedents, and the caller's own calibration. */
import { audit, type Call } from '../../calls/services.ts'
import { checkInput, queryInput, track } from '../../domain/deliberation/tracker.ts'
import type { CompiledRule } from '../../domain/guardrail/evaluate.ts'
import type { Judgement } from '../../domain/guardrail/guard.ts'
import { guardOf } from '../../domain/guardrail/guard.ts'
import { calibrationContext } from '../../domain/memory/profile.ts'
import { type SearchResult, search } from '../../domain/search/search.ts'
import { toAction } from '../checkGuardrails.ts'
import type { CalibrationContext, Params } from './params.ts'

export interface Verdict extends Pick<Judgement, 'allowed' | 'violations' | 'warnings' | 'evaluated'> {
  rules: readonly CompiledRule[]
}

export const notEvaluated: Verdict = {
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

/** What stands behind the answer. Each leg fails on its own: the answer says which could not be had. */
export interface Legs {
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

/** Asks all three at once. */
export async function ask(call: Call, given: Params): Promise<Legs> {
  const [verdict, found, calibration] = await Promise.all([
    verdictOf(call, given),
    precedentsOf(call, given),
    calibrationOf(call, given),
  ])
  const legs = { verdict, found, calibration }
  leave(call, given, legs)
  return legs
}
