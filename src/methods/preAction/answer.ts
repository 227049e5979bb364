/** The answer of preAction, from what was asked and what was recorded. */
import type { RecordResult } from '../../../sdk/schema/record.ts'
import type { Judgement } from '../../domain/guardrail/guard.ts'
import type { SearchResult } from '../../domain/search/search.ts'
import { noRules } from '../checkGuardrails.ts'
import { hitOf } from '../queryDecisions.ts'
import type { Legs } from './legs.ts'
import { assumed, type CalibrationContext, type Params } from './params.ts'

/** How often each pattern stands among the precedents. */
function patternsOf(found: SearchResult): { pattern: string; count: number; example_ids: string[] }[] {
  const seen = new Map<string, string[]>()
  for (const { record } of found.hits)
    if (record.pattern) seen.set(record.pattern, [...(seen.get(record.pattern) ?? []), record.id])
  return [...seen]
    .map(([pattern, ids]) => ({ pattern, count: ids.length, example_ids: ids.slice(0, 3) }))
    .sort((a, b) => b.count - a.count || (a.pattern < b.pattern ? -1 : 1))
}

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

/** What is said where the figures can't be had. */
const noCalibration: CalibrationContext = {
  reviewed_decisions: 0,
  brier_score: null,
  accuracy: null,
  calibration_gap: null,
  interpretation: 'insufficient_data',
  suggestion: null,
}

/** @param blocked violations of rules that stopped only the record */
export function answerOf(
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
