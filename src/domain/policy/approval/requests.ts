/** Approvals in the store: requested and consumed in the transaction of the evaluation that needs them. */
import type { ApprovalState } from '../../../../sdk/schema/approval.ts'
import type { Change } from '../../../../sdk/schema/policy.ts'
import type { KeyedReader, Transaction } from '../../../../sdk/storage/store.ts'
import { dayMs, timestamp } from '../../../core/time.ts'
import { type Approval, consume, current, type Desk, holds } from '../../record/approval/approval.ts'
import { approvalData, queueNotice } from '../../record/approval/notices.ts'
import type { Action } from '../rules/action.ts'
import { type Asked, askedOf, requestDigest, sha256, shownOf } from './asked.ts'
import { denialsOf, deniedCollection, earlierDenials, tooManyDenials } from './denials.ts'

/** Names of the collections, for moving them to another store. */
export const approvalCollections = {
  approval: 'approval',
  latest: 'approval_latest',
  waiting: 'approval_waiting',
  denied: deniedCollection,
} as const
const { approval: all, latest, waiting } = approvalCollections

/** Requests of one agent that may be pending at once: nobody reads more, and a flood hides the one that matters. */
export const mostWaiting = 20
/** How long an approval is kept after it ends. The audit trail keeps its history. */
const keptMs = 90 * dayMs
const expiredAtOnce = 100

/** A rule that asks for an approval. */
export interface AskingRule {
  guardrail_id: string
  name: string
  message: string
  /** The rule as canonical JSON: a changed rule asks again. */
  text: string
  approvers: readonly string[]
  separation: boolean
  /** The login at the issuer that granting it requires. */
  authentication?: Approval['authentication']
  /** How long the request stays pending. */
  waits_ms: number
  /** For how long a grant lets the same action pass; null if the next action uses it up. */
  remember_ms: number | null
}

/** An evaluation whose rules ask for an approval. */
export interface Asking {
  approvalContext: Desk
  agent: string
  on_behalf_of: string | null
  session: string | null
  evaluation_id: string
  request_id: string
  policy_hash: string
  action: Action
  /** What `modify` rules change in it. */
  changes: readonly Change[]
  rules: readonly AskingRule[]
}

export interface Settled {
  /** True if each rule has its grant. */
  granted: boolean
  /** The pending approval, the denied one, or the grant; null if none can be requested. */
  approval: Approval | null
  /** What to tell the caller; null if granted. */
  message: string | null
}

/** Rules with the same approvers share one approval: each person is asked once. */
function groupsOf({ agent, on_behalf_of, ...asking }: Asking, asked: Asked): { key: string; rules: AskingRule[] }[] {
  const groups = new Map<string, AskingRule[]>()
  for (const rule of asking.rules) {
    const name = JSON.stringify([[...rule.approvers].sort(), rule.separation, rule.authentication ?? null])
    groups.set(name, [...(groups.get(name) ?? []), rule])
  }
  return [...groups.values()].map((rules) => ({
    rules,
    key: sha256({ agent, on_behalf_of, ...asked, rules: rules.map(({ text }) => text).sort() }),
  }))
}

const none = (why: string): Settled => ({
  granted: false,
  approval: null,
  message: `An approval is needed, and ${why}`,
})

/**
 * What to do with the grants of an evaluation: `use` consumes them, for an action that proceeds if all are granted; `hold` leaves them to
 * the action's record, which will consume them; `ask` is for an action that was refused already; `look` changes nothing.
 */
export type Settlement = 'use' | 'hold' | 'ask' | 'look'

/** Finds the grants of an evaluation, consumes them if all exist, and requests the missing ones. */
export async function settle(tx: Transaction, asking: Asking, how: Settlement = 'use'): Promise<Settled> {
  const now_ms = asking.approvalContext.now()
  const asked = askedOf(asking.action, asking.changes)
  if (typeof asked === 'string') return none(asked)
  const groups = groupsOf(asking, asked)
  const known = await latestOf(
    tx.keyed,
    groups.map(({ key }) => key),
  )
  const of = ({ key }: { key: string }) => known.get(key) ?? null
  const stateOf = (one: Approval | null): ApprovalState | null => one && current(one, now_ms).state
  if (groups.every((group) => stateOf(of(group)) === 'approved')) {
    const grants = groups.map((group) => consume(of(group)!, now_ms)!)
    if (how === 'ask')
      return { granted: false, approval: of(groups[0]!), message: `approval ${grants[0]!.id} is granted: try again` }
    if (how === 'use') for (const grant of grants) await keep(tx, asking, grant, 'consumed')
    return { granted: true, approval: grants[0]!, message: null }
  }
  let first: Approval | null = null
  for (const group of groups) {
    const known = of(group)
    if (stateOf(known) === 'approved') continue
    let approval: Approval | null = known && holds(known, now_ms) ? known : null
    if (approval === null && how === 'look') continue
    if (approval === null) {
      const made = await request(tx, asking, asked, group)
      if (typeof made === 'string') return none(made)
      approval = made
    }
    if (first === null || approval.state === 'denied') first = approval
  }
  return { granted: false, approval: first, message: messageOf(first, asking.approvalContext) }
}

function messageOf(approval: Approval | null, { approvalUrl, approveLine }: Desk): string {
  if (approval === null) return 'An approval is needed'
  const { id, state, decided_by, reason } = approval
  return state === 'denied'
    ? `approval ${id} was denied by ${decided_by}${reason === null ? '' : `: ${reason}`}`
    : `approval ${id} requested: ${approvalUrl(id)}${approveLine ? `, where a person logs in as admin, or a person runs in a terminal: ${approveLine(id)}` : ''}; try again once it is granted`
}

/** The latest approval for each of these keys. */
async function latestOf(keyed: Pick<KeyedReader, 'get'>, keys: string[]): Promise<Map<string, Approval>> {
  const named = await keyed.get(latest, keys)
  const found = await byIds(
    keyed,
    named.map(({ value }) => (value as { id: string }).id),
  )
  return new Map(
    named.flatMap(({ key, value }) => {
      const one = found.get((value as { id: string }).id)
      return one ? [[key, one] as const] : []
    }),
  )
}

export async function byIds(keyed: Pick<KeyedReader, 'get'>, ids: readonly string[]): Promise<Map<string, Approval>> {
  const found = ids.length === 0 ? [] : await keyed.get(all, ids)
  return new Map(found.map(({ key, value }) => [key, value as Approval]))
}

/** The pending requests of an agent: when each expires, in milliseconds since 1970, by id. */
export type Waiting = Record<string, number>

export const waitingOf = async (keyed: Pick<KeyedReader, 'get'>, agent: string, now_ms: number): Promise<Waiting> => {
  const [found] = await keyed.get(waiting, [agent])
  return Object.fromEntries(Object.entries((found?.value as Waiting) ?? {}).filter(([, ends_ms]) => ends_ms > now_ms))
}

/** Requests an approval; a text says why none can be requested now. */
async function request(
  tx: Transaction,
  asking: Asking,
  asked: Asked,
  { key, rules }: ReturnType<typeof groupsOf>[number],
): Promise<Approval | string> {
  const { approvalContext, agent, on_behalf_of, session, evaluation_id, policy_hash } = asking
  const now_ms = approvalContext.now()
  const open = await waitingOf(tx.keyed, agent, now_ms)
  if (Object.keys(open).length >= mostWaiting)
    return `${mostWaiting} requests of ${agent} wait already: try again once they are decided`
  const denied = await denialsOf(
    tx.keyed,
    agent,
    rules.map(({ guardrail_id }) => guardrail_id),
  )
  const limited = tooManyDenials(denied, now_ms)
  if (limited !== null) return limited
  // The strictest of the rules counts.
  const waits_ms = Math.min(...rules.map((rule) => rule.waits_ms))
  const remember_ms = Math.min(...rules.map((rule) => rule.remember_ms ?? 0))
  const approval: Approval = {
    id: await freeId(tx, approvalContext),
    evaluation_id,
    request_digest: requestDigest(agent, asked, policy_hash),
    policy_hash,
    requester: agent,
    on_behalf_of,
    session,
    ...shownOf(asked),
    denied_before: earlierDenials(denied),
    rules: rules.map(({ guardrail_id, name, message, text }) => ({ guardrail_id, name, message, text })),
    approvers: [...rules[0]!.approvers],
    separation: rules[0]!.separation,
    ...(rules[0]!.authentication && { authentication: rules[0]!.authentication }),
    remember:
      remember_ms === 0
        ? 'none'
        : `exact:${remember_ms % 3_600_000 === 0 ? `${remember_ms / 3_600_000}h` : `${remember_ms / 1_000}s`}`,
    lasts_ms: remember_ms || waits_ms,
    state: 'pending',
    requested_ms: now_ms,
    expires_ms: now_ms + waits_ms,
    decided_by: null,
    reason: null,
    decided_ms: null,
    approved_until_ms: null,
    consumed_ms: null,
  }
  const { id, expires_ms } = approval
  for (const collection of [all, latest, waiting]) await tx.keyed.expire(collection, now_ms, expiredAtOnce)
  await tx.keyed.put(latest, key, { id }, { expires_ms: endOf(approval) })
  await putWaiting(tx, agent, { ...open, [id]: expires_ms })
  await keep(tx, asking, approval, 'requested')
  return approval
}

export const putWaiting = (tx: Transaction, agent: string, open: Waiting): Promise<void> =>
  tx.keyed.put(waiting, agent, open, { expires_ms: Math.max(0, ...Object.values(open)) })

// A grant is given before the request expires.
const endOf = ({ expires_ms, lasts_ms }: Approval): number => expires_ms + lasts_ms + keptMs

/** Stores an approval after a step, with its audit entry and, if the webhook wants it, a notice. */
export async function keep(
  tx: Transaction,
  asking: Pick<Asking, 'approvalContext' | 'agent' | 'request_id'> & { evaluation_id?: string },
  approval: Approval,
  step: 'requested' | 'decided' | 'consumed',
): Promise<void> {
  const { approvalContext, agent, request_id } = asking
  const { id, state, requester, request_digest, evaluation_id, reason, rules } = approval
  await tx.keyed.put(all, id, approval, { expires_ms: endOf(approval) })
  await tx.append({
    audit: [
      {
        at: timestamp(approvalContext.now()),
        agent,
        method: `approval.${step}`,
        request_id,
        ids: [],
        allowed: null,
        rules: rules.map(({ guardrail_id }) => guardrail_id),
        detail: {
          approval: id,
          state,
          requester,
          request_digest,
          evaluation_id,
          ...(step === 'decided' && { reason }),
          ...(step === 'consumed' && { used_by: asking.evaluation_id }),
        },
      },
    ],
  })
  if (approvalContext.notifies.has('approvals') && step !== 'consumed')
    await queueNotice(tx, approvalContext, `approval.${step}`, approvalData(approval, approvalContext))
}

// Short codes that people can read out to each other: Crockford's base32 has no I, L, O and U.

const digits = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'

/** 40 random bits, as two groups of four characters. */
function codeOf(hex: string): string {
  const bits = BigInt(`0x${hex}`)
  const text = Array.from({ length: 8 }, (_, at) => digits[Number((bits >> BigInt(5 * at)) & 31n)]).join('')
  return `${text.slice(0, 4)}-${text.slice(4)}`
}

async function freeId(tx: Transaction, { randomHex }: Desk): Promise<string> {
  for (;;) {
    const id = codeOf(randomHex(5))
    if ((await tx.keyed.get(all, [id])).length === 0) return id
  }
}
