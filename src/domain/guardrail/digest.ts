/** Digests by which the trail proves what was evaluated and what came of it. */
import { createHash } from 'node:crypto'
import { stableJson } from '../../core/json.ts'
import type { Action } from './action.ts'
import type { Verdict } from './evaluate.ts'

const sha256 = (value: unknown): string => createHash('sha256').update(stableJson(value)).digest('hex')

export const inputDigest = (action: Action): string => sha256(action)

const byRule = <T>(list: readonly T[], rule: (one: T) => string): T[] =>
  [...list].sort((a, b) => (rule(a) < rule(b) ? -1 : rule(a) > rule(b) ? 1 : 0))

/** Of everything that a caller is told, whatever the order of the rules in their files. What is empty is left out. */
export function verdictDigest(verdict: Verdict): string {
  const lists: Record<string, readonly unknown[]> = {
    violations: byRule(verdict.violations, (one) => one.guardrail_id),
    warnings: byRule(verdict.warnings, (one) => one.guardrail_id),
    fired: byRule(verdict.fired, (id) => id),
    tags: byRule(verdict.tags, (tag) => tag),
    would_block: byRule(verdict.would_block, (id) => id),
    satisfied_by: byRule(verdict.satisfied_by, (one) => one.rule),
    skipped_for_scope: byRule(verdict.skipped_for_scope, (id) => id),
  }
  const { allowed, verdict: value, evaluated, modified_action } = verdict
  const filled = Object.entries(lists).filter(([, list]) => list.length > 0)
  return sha256({ allowed, verdict: value, evaluated, modified_action, ...Object.fromEntries(filled) })
}
