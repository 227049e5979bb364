/**
 * Audit entries as events of the Open Cybersecurity Schema Framework 1.5: API Activity for calls and verdicts, Authorize Session for a granted
 * approval, which assigns a privilege to an agent.
 * @see https://schema.ocsf.io/1.5.0/classes/api_activity
 */
import type { StoredAuditEntry } from '../../../sdk/storage/store.ts'
import { serviceName, version } from '../../core/version.ts'

type Detail = Record<string, unknown>

const detailOf = ({ detail }: StoredAuditEntry): Detail =>
  detail !== null && typeof detail === 'object' && !Array.isArray(detail) ? (detail as Detail) : {}

/** What a verdict's entry tells without texts of the agent. */
const named = [
  'digest',
  'violations',
  'warnings',
  'tags',
  'policy_hash',
  'duration_ms',
  'record_id',
  'verdict',
  'verdict_digest',
  'would_block',
  'approval_id',
  'approved_rules',
  'dry_run',
  'shadow',
  'guard',
  'as_of',
]

/** The entry without what agents and people wrote: verdicts keep ids, digests, category and stakes, other entries their ids. */
export function withoutTexts(entry: StoredAuditEntry): StoredAuditEntry {
  const detail = detailOf(entry)
  if (entry.method.startsWith('approval.')) {
    const { reason: _, ...kept } = detail
    return { ...entry, detail: kept }
  }
  if (entry.allowed === null) return { ...entry, detail: null }
  const kept = Object.fromEntries(named.filter((name) => name in detail).map((name) => [name, detail[name]]))
  const { category, stakes } = (detail.input ?? {}) as Detail
  return { ...entry, detail: { ...kept, ...(category !== undefined && { input: { category, stakes } }) } }
}

const categories = { iam: 3, application: 6 } as const
const activities = { create: 1, update: 3, delete: 4, other: 99 } as const

/** Verbs by which a method's name begins. */
const verbs: [RegExp, keyof typeof activities][] = [
  [/^(record|ingest|link|export|compact|approval\.requested)/, 'create'],
  [/^(erase|unlink)/, 'delete'],
  [/^(approval\.|update|review|set|decide|reset|attribute|accept|overrule|close|reindex|reload)/, 'update'],
]

/** The enumeration of how a control acted: allowed, denied, or only watched. */
function controlled(allowed: boolean, detail: Detail) {
  const observed = detail.dry_run === true || detail.shadow === true
  if (observed) return { action_id: 99, action: 'Observed', disposition_id: 17, disposition: 'Logged' }
  if (!allowed) return { action_id: 2, action: 'Denied', disposition_id: 2, disposition: 'Blocked' }
  if (detail.verdict === 'modify')
    return { action_id: 1, action: 'Allowed', disposition_id: 11, disposition: 'Corrected' }
  return { action_id: 1, action: 'Allowed', disposition_id: 1, disposition: 'Allowed' }
}

/** The event of an entry. Times are in milliseconds since 1970. */
export function ocsfEvent(entry: StoredAuditEntry): Record<string, unknown> {
  const { seq, at, agent, method, request_id, ids, allowed, rules } = entry
  const detail = detailOf(entry)
  const grants = method === 'approval.decided' && detail.state === 'approved'
  const verb = verbs.find(([start]) => start.test(method.replace(/^cstp\./, '')))?.[1] ?? 'other'
  const activity = allowed === null ? activities[verb] : activities.other
  const entity = (name: string) => ({ uid: name, name })
  const [class_uid, category_uid, activity_id] = grants
    ? ([3_003, categories.iam, 1] as const)
    : ([6_003, categories.application, activity] as const)
  const time = Date.parse(at)
  return {
    class_uid,
    category_uid,
    activity_id,
    type_uid: class_uid * 100 + activity_id,
    ...(activity_id === activities.other && { activity_name: allowed === null ? method : 'Evaluate policy' }),
    time,
    severity_id: allowed === false ? 3 : 1,
    status_id: 1,
    message: allowed === null ? method : `${method}: ${allowed ? 'allowed' : `stopped by ${rules.join(', ')}`}`,
    metadata: {
      version: '1.5.0',
      uid: String(seq),
      sequence: seq,
      correlation_uid: request_id,
      original_time: at,
      log_name: 'audit',
      product: { name: serviceName, vendor_name: serviceName, version },
      ...(allowed !== null && { profiles: ['security_control'] }),
    },
    actor: { user: entity(agent) },
    ...(grants
      ? { user: entity(String(detail.requester)), privileges: rules, session: { uid: String(detail.approval) } }
      : {
          api: { operation: method, request: { uid: request_id }, service: { name: serviceName } },
          src_endpoint: { uid: agent },
          ...(ids.length > 0 && { resources: ids.map((uid) => ({ uid, type: 'decision' })) }),
        }),
    ...(allowed !== null && {
      ...controlled(allowed, detail),
      ...(typeof detail.policy_hash === 'string' && { policy: { uid: detail.policy_hash } }),
    }),
    unmapped: { rules, detail: entry.detail },
  }
}
