/** Digests with which the audit trail proves the input and the result of an evaluation. */
import { hash } from 'node:crypto'
import type { Violation } from '../../../../sdk/schema/policy.ts'
import { stableJson } from '../../../core/json.ts'
import type { Action } from '../rules/action.ts'
import type { Verdict } from '../rules/evaluate.ts'

const sha256 = (value: unknown): string => hash('sha256', stableJson(value), 'hex')

export const inputDigest = (action: Action): string => sha256(action)

const byRule = <T>(list: readonly T[], rule: (one: T) => string): T[] =>
  [...list].sort((a, b) => (rule(a) < rule(b) ? -1 : rule(a) > rule(b) ? 1 : 0))

const byId = ({ guardrail_id }: Violation): string => guardrail_id
const itself = (text: string): string => text

/** Digest of everything that a caller receives, independent of the order of rules in their files. Empty lists are left out. */
export function verdictDigest(given: Verdict): string {
  const { allowed, verdict, evaluated, modified_action } = given
  const content: Record<string, unknown> = { allowed, verdict, evaluated, modified_action }
  const add = <T>(name: string, list: readonly T[], rule: (one: T) => string) => {
    if (list.length > 0) content[name] = byRule(list, rule)
  }
  add('violations', given.violations, byId)
  add('warnings', given.warnings, byId)
  add('fired', given.fired, itself)
  add('tags', given.tags, itself)
  add('would_block', given.would_block, itself)
  add('satisfied_by', given.satisfied_by, ({ rule }) => rule)
  add('skipped_for_scope', given.skipped_for_scope, itself)
  return sha256(content)
}
