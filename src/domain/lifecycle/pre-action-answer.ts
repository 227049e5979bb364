/** The answer of preAction, from what its checks found and what was recorded. */
import * as v from 'valibot'
import type { DecisionRecord } from '../../../sdk/schema/decision.ts'
import { PublishedHits, QueryHit } from '../../../sdk/schema/hit.ts'
import { type ActionParams, PresentVerdict, Violation, verdictEntries } from '../../../sdk/schema/policy.ts'
import type { RecordResult } from '../../../sdk/schema/record.ts'
import { parseRecord } from '../../../sdk/storage/decisions.ts'
import { isConfirmed } from '../../../sdk/storage/fields.ts'
import type { Transaction } from '../../../sdk/storage/store.ts'
import { wordingOf } from '../learn/memory/clusters.ts'
import { hitsOf, type PublishedShown, type Shown } from '../learn/memory/precedents.ts'
import { CalibrationContext } from '../learn/memory/profile.ts'
import { generalWarnings, shownVerdict, warning } from '../policy/judge/request.ts'
import type { CompiledRule } from '../policy/rules/compiled.ts'
import type { Evaluation } from '../policy/rules/evaluate.ts'
import { IndexState, type SearchResult, searchEntries } from '../search/search.ts'

const d = v.description

export const PreActionResult = v.object({
  allowed: v.boolean(),
  ...verdictEntries,
  decision_id: v.pipe(
    v.nullable(v.string()),
    d('Id of the recorded decision; null if it was blocked or not to be recorded.'),
  ),
  relevant_decisions: v.pipe(
    v.array(QueryHit),
    d('Precedents, best first, and at most two that may not fit (`weak`).'),
  ),
  published: v.optional(PublishedHits),
  ...searchEntries,
  index: v.pipe(v.nullable(IndexState), d('How much of the corpus was searched; null if the search failed.')),
  guardrail_results: v.pipe(
    v.array(
      v.object({
        guardrail_id: v.string(),
        status: v.picklist(['pass', 'warn', 'block']),
        message: v.string(),
        suggestion: v.nullable(v.string()),
      }),
    ),
    d('One entry per evaluated rule, fired rules first; `skipped_for_scope` lists the others.'),
  ),
  violations: v.array(Violation),
  warnings: v.array(Violation),
  calibration_context: v.pipe(CalibrationContext, d('Calibration of earlier decisions like this one.')),
  patterns_summary: v.pipe(
    v.array(
      v.object({
        pattern: v.string(),
        count: v.number(),
        successes: v.pipe(v.number(), d('Those of them that succeeded.')),
        failures: v.pipe(v.number(), d('Those of them that failed.')),
        example_ids: v.array(v.string()),
      }),
    ),
    d(
      'Patterns of the precedents with their outcomes, most frequent first; not those that only failed and were replaced.',
    ),
  ),
  block_reasons: v.pipe(v.array(v.string()), d('Messages of the violations.')),
  query_time_ms: v.number(),
  replayed: v.pipe(v.optional(v.literal(true)), d('True if this is the answer of an earlier call with the same key.')),
  present: v.optional(PresentVerdict),
})
export type PreActionResult = v.InferOutput<typeof PreActionResult>

/** A verdict, and the rules that gave it. */
export interface Check extends Omit<Evaluation, 'record_id'> {
  record_id: string | null
  rules: readonly CompiledRule[]
}

/** What was searched, and what of it is shown. */
export interface Found extends SearchResult {
  shown: Shown[]
  published: PublishedShown[]
}

/** What the checks found. Each fails independently; null means unavailable. */
export interface Checks {
  verdict: Check
  /** Consumes the grants that allowed the action, in the transaction of its record. @throws GrantsUsed */
  useGrants(tx: Transaction): Promise<void>
  found: Found | null
  calibration: CalibrationContext | null
}

export const notEvaluated: Check = {
  allowed: false,
  violations: [
    {
      guardrail_id: 'guardrails_unavailable',
      name: 'Guardrails could not be evaluated',
      message: 'The guardrails could not be evaluated, so the action is not allowed',
      severity: 'block',
      suggestion: 'Try again; if it fails again, ask an operator',
      error: 'evaluation failed',
    },
  ],
  verdict: 'deny',
  warnings: [],
  fired: [],
  tags: [],
  evaluated: 0,
  asks: [],
  would_block: [],
  modified_action: null,
  changes: [],
  satisfied_by: [],
  skipped_for_scope: [],
  policy_hash: '',
  duration_ms: 0,
  at_ms: 0,
  answers: {},
  record_id: null,
  approval: null,
  approved_rules: [],
  rules: [],
}

/** Failed, and another decision has its place. */
const isReplacedFailure = ({ record: { outcome }, superseded_by }: Known): boolean =>
  superseded_by !== null && (outcome === 'failure' || outcome === 'partial')

interface Known {
  record: DecisionRecord
  superseded_by: string | null
}

/**
 * How often each pattern occurs among the precedents and with which outcomes, for patterns of several agents or confirmed by another
 * agent's review or by evidence. A pattern of replaced failures alone is not among them: reading it would recommend it.
 */
function patternsOf({ hits, states }: SearchResult): PreActionResult['patterns_summary'] {
  const known = hits
    .filter((_, at) => states[at] !== 'none')
    .map(({ text, superseded_by }): Known => ({ record: parseRecord(text), superseded_by }))
    .filter(({ record }) => record.pattern)
  return [...Map.groupBy(known, ({ record }) => wordingOf(record.pattern!)).values()]
    .filter((of) => !of.every(isReplacedFailure))
    .map((of) => of.map(({ record }) => record))
    .filter((of) => new Set(of.map(({ recorded_by }) => recorded_by)).size > 1 || of.some(isConfirmed))
    .map((of) => ({
      pattern: of[0]!.pattern!,
      count: of.length,
      successes: of.filter(({ outcome }) => outcome === 'success').length,
      failures: of.filter(({ outcome }) => outcome === 'failure').length,
      example_ids: of.slice(0, 3).map(({ id }) => id),
    }))
    .sort((a, b) => b.count - a.count || (a.pattern < b.pattern ? -1 : 1))
}

/** The warning for a record without category or confidence. */
function omissions({ category, confidence }: ActionParams): Violation[] {
  const parts = [...(category === null ? ['a category'] : []), ...(confidence === null ? ['a confidence'] : [])]
  if (parts.length === 0) return []
  return [
    warning(
      'defaults_assumed',
      'Recorded without what scores need',
      `Recorded without ${parts.join(' and ')}`,
      'Say how sure you are and what it is about: a decision without confidence enters no score',
    ),
  ]
}

const unavailable = (what: string): Violation =>
  warning(`${what}_unavailable`, `${what} unavailable`, `The ${what} is unavailable for this answer`, 'Try again')

/** @param blocked violations of rules that stopped only the record */
export function answerOf(
  given: { action: ActionParams; options: { include_patterns: boolean } },
  { verdict, found, calibration }: Omit<Checks, 'useGrants'>,
  record: RecordResult | null,
  blocked: readonly Violation[],
  query_time_ms: number,
): PreActionResult {
  const violations = [...verdict.violations, ...blocked]
  const known = new Set([...violations, ...verdict.warnings].map(({ guardrail_id }) => guardrail_id))
  const warnings = [
    ...(verdict === notEvaluated ? [] : generalWarnings(verdict)),
    ...verdict.warnings,
    // Warnings of the record only, from rules on its quality or its phase.
    ...(record?.guardrail_warnings ?? []).filter(({ guardrail_id }) => !known.has(guardrail_id)),
    ...(record ? omissions(given.action) : []),
    ...(found ? [] : [unavailable('precedents')]),
    ...(calibration ? [] : [unavailable('calibration')]),
  ]
  const fired = [...violations, ...warnings].map(({ guardrail_id, severity, message, suggestion }) => ({
    guardrail_id,
    status: severity,
    message,
    suggestion,
  }))
  const named = new Set([...fired.map(({ guardrail_id }) => guardrail_id), ...verdict.skipped_for_scope])
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
    ...shownVerdict(verdict),
    decision_id: record?.decision_id ?? null,
    relevant_decisions: found ? hitsOf(found.shown) : [],
    precedent: found?.precedent ?? null,
    no_precedent: found?.no_precedent ?? false,
    degraded: found?.degraded ?? true,
    index: found?.index ?? null,
    guardrail_results: [...fired, ...passed],
    violations,
    warnings,
    calibration_context: calibration ?? {
      reviewed_decisions: 0,
      brier_score: null,
      accuracy: null,
      calibration_gap: null,
      gap_low: null,
      gap_high: null,
      interpretation: 'insufficient_data',
      suggestion: null,
    },
    patterns_summary: found && given.options.include_patterns ? patternsOf(found) : [],
    block_reasons: violations.map(({ message }) => message),
    query_time_ms,
  }
}
