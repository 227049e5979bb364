/**
 * Repeats evaluations of the audit trail: with the rules of their time, which must give the same verdict byte by byte, and with other
 * rules, to see what would change.
 */
import type { Violation } from '../../../../sdk/schema/policy.ts'
import type { VerdictValue } from '../../../../sdk/schema/verdict.ts'
import type { StoredAuditEntry } from '../../../../sdk/storage/store.ts'
import { lifted } from '../approval/step-up.ts'
import { type BreakerViolation, breakerId, withBreakers } from '../judge/breakers.ts'
import { inputDigest, verdictDigest } from '../judge/judge.ts'
import type { Action } from '../rules/action.ts'
import { evaluate, shadowed, type Verdict, withVerdict } from '../rules/evaluate.ts'
import { type Answers, recordedHistory } from '../rules/history.ts'
import { isGuarded } from '../rules/packs.ts'
import type { PolicySet } from '../rules/set.ts'

/** Evaluates a past action. `unknown` holds the rules that depend on past state that was not recorded. */
export async function evaluatePast(
  set: PolicySet,
  action: Action,
  at: string,
  answers: Answers = {},
): Promise<{ verdict: Verdict; unknown: Set<string> }> {
  const unknown = new Set<string>()
  const history = recordedHistory(Date.parse(at), answers)
  const verdict = await evaluate(set.rules, action, history, (rule) => void unknown.add(rule))
  return { verdict, unknown }
}

/** `pass` and `warn` allow the action unchanged; `block` is the verdict `deny`. */
type Answer = 'pass' | 'warn' | 'block' | Exclude<VerdictValue, 'allow' | 'deny'>

/** Result of evaluating an entry with the rules of its time: the same verdict, a different one, or unknown. */
interface Repeated {
  outcome: 'same' | 'different' | 'unknown'
  /** Why it is not the same; null if it is, or if nothing explains it. */
  why: string | null
}

export interface Replayed {
  seq: number
  request_id: string
  at: string
  agent: string
  method: string
  description: string
  policy_hash: string
  by_its_rules: Repeated
  before: Answer
  after: Answer
  /** Rules and breakers that fired then, and those that would fire today. */
  rules_before: string[]
  rules_after: string[]
  /** Why the verdict by today's rules is not certain; empty if it is. */
  uncertain: ('redacted text' | 'past state')[]
}

/** What an audit entry keeps of an evaluation. */
interface Detail {
  input: Action
  digest: string
  redacted: boolean
  violations: string[]
  warnings: string[]
  policy_hash: string
  verdict: VerdictValue
  verdict_digest: string
  answers?: Answers
  breakers?: BreakerViolation[]
  /** What else stopped it, whatever the rules said. */
  stops?: Violation[]
  /** Rules whose step-up was approved. */
  approved_rules?: string[]
  /** The caller was in shadow mode, or in guard mode. */
  shadow?: boolean
  guard?: boolean
  /** The earlier time that the evaluation was about. */
  as_of?: string
}

const isDetail = (detail: unknown): detail is Detail =>
  detail !== null && typeof detail === 'object' && 'input' in detail && 'verdict_digest' in detail

const answerOf = (verdict: VerdictValue, warnings: number): Answer =>
  verdict === 'allow' ? (warnings > 0 ? 'warn' : 'pass') : verdict === 'deny' ? 'block' : verdict

/** The verdict combined with what was settled apart from the rules: breakers that stopped the action, and approvals. */
function settled(
  verdict: Verdict,
  {
    approved_rules = [],
    shadow = false,
    guard = false,
    stops = [],
  }: Pick<Detail, 'approved_rules' | 'shadow' | 'guard' | 'stops'>,
  breakers: readonly BreakerViolation[],
): Verdict {
  const all = withBreakers(verdict, [...breakers, ...stops])
  const whole = guard ? shadowed(all, isGuarded) : all
  if (shadow) return shadowed(whole)
  return approved_rules.length > 0 ? lifted(whole, approved_rules) : whole
}

/** Repeats an entry with the archived rules of its time. @param set null if there are none, `altered` if they do not match their hash */
async function repeat(set: PolicySet | 'altered' | null, detail: Detail, at: string): Promise<Repeated> {
  if (set === null) return { outcome: 'unknown', why: 'rules not archived' }
  if (set === 'altered') return { outcome: 'different', why: 'archived rules altered' }
  if (detail.redacted) return { outcome: 'unknown', why: 'redacted text' }
  if (inputDigest(detail.input) !== detail.digest) return { outcome: 'different', why: 'input altered' }
  const { verdict, unknown } = await evaluatePast(set, detail.input, at, detail.answers)
  if (verdictDigest(settled(verdict, detail, detail.breakers ?? [])) === detail.verdict_digest)
    return { outcome: 'same', why: null }
  return unknown.size > 0 ? { outcome: 'unknown', why: 'past state' } : { outcome: 'different', why: null }
}

/** The archived set of a hash; null if there is none, `altered` if it does not match the hash. */
export type Archived = (hash: string) => Promise<PolicySet | 'altered' | null>

/** Evaluates an audit entry again; null if it is not an evaluation. */
export async function replay(now: PolicySet, archived: Archived, entry: StoredAuditEntry): Promise<Replayed | null> {
  const { seq, request_id, at, agent, method, detail, rules: rules_before } = entry
  if (!isDetail(detail)) return null
  const judged_at = detail.as_of ?? at
  const { verdict, unknown } = await evaluatePast(now, detail.input, judged_at, detail.answers)
  const then = new Set(rules_before)
  // A rule that depends on past state is assumed to answer as it did then. So is a breaker that is still declared.
  const counts = (rule: string) => !unknown.has(rule) || then.has(rule)
  const declared = new Set(now.breakers.map(({ scope }) => breakerId(scope)))
  const stopped = (detail.breakers ?? []).filter(({ guardrail_id }) => declared.has(guardrail_id))
  const known = withVerdict({
    ...verdict,
    violations: verdict.violations.filter((one) => counts(one.guardrail_id)),
    warnings: verdict.warnings.filter((one) => counts(one.guardrail_id)),
    asks: verdict.asks.filter((one) => counts(one.rule)),
    fired: verdict.fired.filter(counts),
  })
  const after = settled(known, detail, stopped)
  const onPastState = unknown.size > 0 || (detail.breakers ?? []).length > 0
  return {
    seq,
    request_id,
    at,
    agent,
    method,
    description: detail.input.description,
    policy_hash: detail.policy_hash,
    by_its_rules: await repeat(await archived(detail.policy_hash), detail, judged_at),
    before: answerOf(detail.verdict, detail.warnings.length),
    after: answerOf(after.verdict, after.warnings.length),
    rules_before,
    rules_after: after.fired,
    uncertain: [
      ...(detail.redacted ? (['redacted text'] as const) : []),
      ...(onPastState ? (['past state'] as const) : []),
    ],
  }
}

/** Results of evaluating audit entries again. */
export interface Replay {
  /** Entries that were evaluated again. */
  evaluations: number
  /** Entries that get the same verdict from the archived rules of their time, byte by byte. */
  repeated: number
  /** Entries that can't be repeated, by reason. */
  not_repeatable: Record<string, number>
  /** Entries that get a different verdict from the rules of their time. */
  different: Replayed[]
  /** Entries whose verdict by today's rules depends on redacted text or on unrecorded past state, whether it changed or not. */
  uncertain: number
  /** Entries that get a different verdict from today's rules. */
  changed: Replayed[]
}

/** Evaluates the entries again. @param each called with each result */
export async function replayAll(
  now: PolicySet,
  archived: Archived,
  entries: AsyncIterable<StoredAuditEntry>,
  each: (replayed: Replayed) => void = () => {},
): Promise<Replay> {
  const found: Replay = { evaluations: 0, repeated: 0, not_repeatable: {}, different: [], uncertain: 0, changed: [] }
  for await (const entry of entries) {
    const one = await replay(now, archived, entry)
    if (!one) continue
    each(one)
    found.evaluations++
    const { outcome, why } = one.by_its_rules
    if (outcome === 'same') found.repeated++
    else if (outcome === 'different') found.different.push(one)
    else found.not_repeatable[why!] = (found.not_repeatable[why!] ?? 0) + 1
    if (one.uncertain.length > 0) found.uncertain++
    if (one.before !== one.after) found.changed.push(one)
  }
  return found
}
