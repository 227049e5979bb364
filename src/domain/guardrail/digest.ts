/** Digests by which the trail proves what was evaluated and what came of it. */
import { createHash } from 'node:crypto'
import { stableJson } from '../../core/json.ts'
import type { Action } from './action.ts'
import type { Verdict } from './evaluate.ts'

const sha256 = (value: unknown): string => createHash('sha256').update(stableJson(value)).digest('hex')

export const inputDigest = (action: Action): string => sha256(action)

const byRule = <T>(list: readonly T[], rule: (one: T) => string): T[] =>
  [...list].sort((a, b) => (rule(a) < rule(b) ? -1 : rule(a) > rule(b) ? 1 : 0))

/** Of everything that a caller is told, whatever the order of the rules in their files. */
export const verdictDigest = (verdict: Verdict): string =>
  sha256({
    allowed: verdict.allowed,
    verdict: verdict.verdict,
    violations: byRule(verdict.violations, (one) => one.guardrail_id),
    warnings: byRule(verdict.warnings, (one) => one.guardrail_id),
    fired: [...verdict.fired].sort(),
    tags: [...verdict.tags].sort(),
    would_block: [...verdict.would_block].sort(),
    modified_action: verdict.modified_action,
    satisfied_by: byRule(verdict.satisfied_by, (one) => one.rule),
    skipped_for_scope: [...verdict.skipped_for_scope].sort(),
    evaluated: verdict.evaluated,
  })
