/** cstp.preAction: precedents, verdict and calibration in one call, then the record when all is well. */
import * as v from 'valibot'
import { Violation } from '../../sdk/schema/policy.ts'
import type { RecordResult } from '../../sdk/schema/record.ts'
import { defineMethod } from '../calls/method.ts'
import type { Judgement } from '../domain/guardrail/guard.ts'
import { answerOf } from './preAction/answer.ts'
import { ask, type Legs, notEvaluated } from './preAction/legs.ts'
import { CalibrationContext, params, recordParams } from './preAction/params.ts'
import { input } from './preAction/tool.ts'
import { QueryHit } from './queryDecisions.ts'
import { prepareRecord, RecordBlocked, recordOnce } from './recordDecision.ts'

const d = v.description

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
  effect: 'keyed',
  mcp: {
    name: 'pre_action',
    title: 'Check and record decision',
    description:
      'The standard way to decide: call it once before you act. It finds precedents, checks the guardrails, gives your calibration, and, when allowed, records the decision (auto_record) with what you asked and thought before. Act only with `allowed: true`; keep `decision_id` for review_outcome.',
    input,
  },
  failure: 'guardrail_eval_failed',
  async handle(call, given) {
    const start = call.elapsed()
    const recorded = given.options.auto_record ? recordParams(given) : null
    let legs: Legs = { verdict: notEvaluated, found: null, calibration: null }
    const answer = (record: RecordResult | null, blocked: readonly Judgement['violations'][number][] = []) =>
      answerOf(given, legs, record, blocked, call.elapsed() - start)
    if (recorded === null) {
      legs = await ask(call, given)
      return answer(null)
    }
    try {
      return await recordOnce(call, given.idempotency_key, given, async () => {
        legs = await ask(call, given)
        // Without a record no key is used up: the same call may be allowed later.
        if (!legs.verdict.allowed) throw new RecordBlocked([], async () => {})
        const record = await prepareRecord(call, recorded, given.action.context)
        return async (tx) => answer(await record(tx))
      })
    } catch (error) {
      if (error instanceof RecordBlocked) return answer(null, error.violations)
      throw error
    }
  },
})
