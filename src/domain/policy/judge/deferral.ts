/** A deferred action waits for missing information, but not forever: after the time that its rules set, the same action is denied. */
import { createHash } from 'node:crypto'
import type { Transaction } from '../../../../sdk/storage/store.ts'
import { stableJson } from '../../../core/canonical.ts'
import { dayMs, durationMs, timestamp } from '../../../core/time.ts'
import { type Action, withoutCall } from '../rules/action.ts'
import { type Evaluation, withVerdict } from '../rules/evaluate.ts'
import { givenOf } from '../rules/modify.ts'
import type { PolicySet } from '../rules/set.ts'

/** Name of the collection, for moving it to another store. */
export const deferralCollection = 'deferral'
/** How long the denial lasts once the wait is over. */
const deniedMs = dayMs
const expiredAtOnce = 100
const defaultWait = '1h'

/** The evaluation, denied if its action was deferred before and the wait is over. @param readOnly if true, nothing is stored */
export async function withDeferral(
  { keyed }: Pick<Transaction, 'keyed'>,
  { rules }: PolicySet,
  action: Action,
  evaluation: Evaluation,
  { now_ms, readOnly }: { now_ms: number; readOnly: boolean },
): Promise<Evaluation> {
  if (evaluation.verdict !== 'defer') return evaluation
  const deferring = new Set(evaluation.asks.filter(({ verdict }) => verdict === 'defer').map(({ rule }) => rule))
  const same = givenOf({ ...action, context: withoutCall(action.context) })
  const asked = { agent: action.agent_id, action: same, rules: [...deferring].sort() }
  const key = createHash('sha256').update(stableJson(asked)).digest('hex')
  const [found] = await keyed.get(deferralCollection, [key])
  const known = found?.value as { until_ms: number } | undefined
  if (known === undefined || now_ms > known.until_ms + deniedMs) {
    if (readOnly) return evaluation
    // The shortest wait of all rules applies.
    const waits = rules
      .filter(({ rule }) => deferring.has(rule.id))
      .map(({ rule }) => rule.defer?.expires ?? defaultWait)
    const until_ms = now_ms + Math.min(...waits.map(durationMs))
    await keyed.expire(deferralCollection, now_ms, expiredAtOnce)
    await keyed.put(deferralCollection, key, { until_ms }, { expires_ms: until_ms + deniedMs })
    return evaluation
  }
  if (now_ms < known.until_ms) return evaluation
  const why = `deferred, and not resolved by ${timestamp(known.until_ms)}`
  return withVerdict({
    ...evaluation,
    asks: evaluation.asks.map((one) => ({ ...one, verdict: 'deny' as const })),
    violations: evaluation.violations.map(({ verdict: _, ...one }) =>
      deferring.has(one.guardrail_id) ? { ...one, message: `${one.message} (${why})` } : one,
    ),
  })
}
