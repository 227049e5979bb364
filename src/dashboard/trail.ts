/** Reads lines of the audit trail: the evaluated action, what stopped it, and the text of a line that evaluated nothing. */
import type { ListAuditResult } from '../../sdk/client.ts'

export type AuditEntry = ListAuditResult['entries'][number]

/** A breaker that stopped an action. */
interface OpenBreaker {
  guardrail_id: string
  message: string
  suggestion: string | null
  reset_at: string | null
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  value !== null && typeof value === 'object' && !Array.isArray(value)
const texts = (value: unknown): string[] => (Array.isArray(value) ? value.filter((one) => typeof one === 'string') : [])
const text = (value: unknown): string | null => (typeof value === 'string' ? value : null)

/** The detail of an evaluation, as far as present: lines of all kinds share one field for it. */
export function evaluated(detail: unknown) {
  const given = isObject(detail) ? detail : {}
  return {
    input: isObject(given.input) ? given.input : {},
    violations: texts(given.violations),
    warnings: texts(given.warnings),
    verdict: text(given.verdict),
    policy_hash: text(given.policy_hash),
    record_id: text(given.record_id),
    approval_id: text(given.approval_id),
    dry_run: given.dry_run === true,
    breakers: Array.isArray(given.breakers) ? (given.breakers as OpenBreaker[]) : [],
  }
}

/** The description of the evaluated action; empty if there is none. */
export const actionIn = (detail: unknown): string => text(evaluated(detail).input.description) ?? ''

/** What stopped an action; warnings stop nothing. */
export const stoppedBy = ({ allowed, detail }: Pick<AuditEntry, 'allowed' | 'detail'>): string[] =>
  allowed === false ? evaluated(detail).violations : []

/** The approval that a line is about; null if it is about none. */
export const approvalIn = (detail: unknown): string | null => (isObject(detail) ? text(detail.approval) : null)

/** A rule or breaker in words: the trail has both under one name. */
export const ruleWords = (id: string): string => id.replace(breakerPrefix, 'breaker ')

/** The detail of a line that evaluated nothing: which breaker was reset, which rules were reloaded. */
export function otherDetail({ agent, detail }: Pick<AuditEntry, 'agent' | 'detail'>): string {
  if (!isObject(detail) || 'input' in detail) return ''
  return (
    Object.entries(detail)
      // Digests and ids are among the details, the agent and a link to the approval in the line.
      .filter(
        ([name, value]) =>
          ['string', 'number', 'boolean'].includes(typeof value) &&
          !/^[0-9a-f]{32,}$|^\d{4}-\d\d-\d\d-[a-z]+-[0-9a-f]+$/.test(String(value)) &&
          value !== agent &&
          name !== 'approval',
      )
      .map(([name, value]) => `${name.replaceAll('_', ' ')}: ${String(value)}`)
      .join(', ')
  )
}

export const breakerPrefix = 'circuit_breaker:'
