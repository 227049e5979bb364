/**
 * Signed notices to a webhook, about approvals and about events that stop agents. A notice is queued in the transaction of the event that it reports, and
 * delivered at least once, with growing pauses between attempts, across all servers and restarts.
 * @see https://www.standardwebhooks.com
 */
import { createHmac, hash } from 'node:crypto'
import { type KeyedReader, newestKeyed } from '../../../../sdk/storage/keyed.ts'
import type { Store, Transaction } from '../../../../sdk/storage/store.ts'
import { type PeriodicJob, startPeriodicJob } from '../../../core/periodic-job.ts'
import { timestamp } from '../../../core/time.ts'
import { type Approval, type Desk, show } from './approval.ts'

/** Name of the collection, for moving it to another store. */
export const noticeCollection = 'notice'
/** Name of the collection of the delivery log: no texts, and nothing about decisions. */
export const deliveryCollection = 'delivery'

interface Notice {
  body: string
  attempts: number
}

/** The state of a notice's delivery, under its time and id. */
interface StoredDelivery {
  type: string
  state: 'waiting' | 'delivered' | 'abandoned'
  attempts: number
  /** Milliseconds since 1970 of the latest attempt, and of the next one. */
  last_ms: number | null
  next_ms: number | null
  /** Why the latest attempt failed. */
  error: string | null
}

const kept_ms = 30 * 86_400_000

const writeDelivery = (
  { keyed }: Transaction,
  id: string,
  body: string,
  now_ms: number,
  rest: Omit<StoredDelivery, 'type'>,
) => {
  const { type, timestamp } = JSON.parse(body) as { type: string; timestamp: string }
  const value: StoredDelivery = { type, ...rest }
  return keyed.put(deliveryCollection, `${timestamp}/${id}`, value, { expires_ms: now_ms + kept_ms })
}

const at = (ms: number | null): string | null => (ms === null ? null : timestamp(ms))

const erased = { state: 'abandoned', next_ms: null, error: 'what it reported was erased' } as const

/** A page of the delivery log, newest first: a notice that is not queued any more does not wait. @param after cursor of the previous page */
export async function listDeliveries(
  keyed: Pick<KeyedReader, 'list' | 'get'>,
  { state, after, limit }: { state?: StoredDelivery['state'] | undefined; after?: string | undefined; limit: number },
) {
  const deliveries = []
  for await (const { key, value } of newestKeyed(keyed, deliveryCollection, '', after)) {
    if (deliveries.length === limit) break
    const stored = value as StoredDelivery
    const [queued_at, id] = key.split('/') as [string, string]
    const isGone = stored.state === 'waiting' && (await keyed.get(noticeCollection, [id])).length === 0
    const { last_ms, next_ms, ...rest } = isGone ? { ...stored, ...erased } : stored
    if (state === undefined || rest.state === state)
      deliveries.push({ id, queued_at, ...rest, last_attempt_at: at(last_ms), next_attempt_at: at(next_ms) })
  }
  return deliveries
}

/** The cursor after an entry of the delivery log. */
export const afterDelivery = ({ queued_at, id }: { queued_at: string; id: string }): string => `${queued_at}/${id}`

/** The data of a notice about an approval: who requests what, without the arguments, which the page shows to those who may see them. */
export function approvalData(approval: Approval, approvalContext: Desk): object {
  const {
    action,
    changes: _,
    rules,
    approvers,
    request_digest,
    policy_hash,
    ...shown
  } = show(approval, approvalContext.now(), approvalContext.approvalUrl)
  const { description, category, stakes, project } = action
  return {
    ...shown,
    action: { description, category, stakes, project },
    rules: rules.map(({ guardrail_id, name }) => ({ guardrail_id, name })),
    approvers,
    request_digest,
    policy_hash,
  }
}

const idOf = (hex: string): string => `msg_${hex}`

/** Adds a notice to the queue. @param id hexadecimal digits; if a notice with this id is queued already, the new one is dropped */
export async function queueNotice(
  tx: Transaction,
  approvalContext: Desk,
  type: string,
  data: object,
  id = approvalContext.randomHex(16),
): Promise<void> {
  if ((await tx.keyed.get(noticeCollection, [idOf(id)])).length > 0) return
  const now_ms = approvalContext.now()
  const body = JSON.stringify({ type, timestamp: timestamp(now_ms), data })
  const notice: Notice = { body, attempts: 0 }
  await tx.keyed.put(noticeCollection, idOf(id), notice, { expires_ms: now_ms })
  const fresh = { state: 'waiting', attempts: 0, last_ms: null, next_ms: now_ms, error: null } as const
  await writeDelivery(tx, idOf(id), body, now_ms, fresh)
}

const minute_ms = 60_000

/** The same id for all notices on one subject within a minute, so that an agent's repetitions neither fill the queue nor delay other notices. */
export const idOfMinute = (subject: readonly string[], now_ms: number): string =>
  hash('sha256', JSON.stringify([...subject, Math.floor(now_ms / minute_ms)]), 'hex').slice(0, 32)

/** The headers that sign a notice. @param secret the key shared with the receiver */
export function signed(secret: Uint8Array, id: string, body: string, now_ms: number): Record<string, string> {
  const seconds = String(Math.floor(now_ms / 1_000))
  const mac = createHmac('sha256', secret).update(`${id}.${seconds}.${body}`).digest('base64')
  return { 'webhook-id': id, 'webhook-timestamp': seconds, 'webhook-signature': `v1,${mac}` }
}

/** The key of a secret `whsec_<base64>`. */
export const keyOf = (secret: string): Uint8Array => Buffer.from(secret.replace(/^whsec_/, ''), 'base64')

const batch = 16
const looked = 100
const lease_ms = 60_000
const round_ms = 1_000
/** Pauses before each further attempt; after the last attempt a notice is dropped. About two days in all. */
const pauses_ms = [5, 30, 120, 600, 1_800, 3_600, 14_400, 28_800, 43_200, 86_400].map((seconds) => seconds * 1_000)

/** Starts rounds that deliver the due notices; each returns how many were delivered. */
export function startNotices(options: {
  store: Pick<Store, 'keyed' | 'transaction'>
  now(): number
  /** Calls `run` after `ms` milliseconds; returns a function that cancels it. */
  after(ms: number, run: () => void): () => void
  /** Resolves once the receiver has accepted the notice. @throws if it does not accept it */
  send(id: string, body: string, signal: AbortSignal): Promise<void>
  failed(id: string, attempts: number, error: unknown, given_up: boolean): void
}): PeriodicJob {
  const { store, now, after, send, failed } = options

  /** Takes the due notices under a lease; until it ends, no other server takes them. */
  const claim = (): Promise<[string, Notice][]> =>
    store.transaction(async ({ keyed }) => {
      const due = await keyed.expire(noticeCollection, now(), batch)
      const taken = due.map(({ key, value }): [string, Notice] => {
        const { body, attempts } = value as Notice
        return [key, { body, attempts: attempts + 1 }]
      })
      for (const [id, notice] of taken) await keyed.put(noticeCollection, id, notice, { expires_ms: now() + lease_ms })
      await keyed.expire(deliveryCollection, now(), batch)
      return taken
    })

  const deliver = async (id: string, notice: Notice, stop: AbortSignal): Promise<boolean> => {
    let error: unknown
    try {
      await send(id, notice.body, stop)
    } catch (thrown) {
      error = thrown
    }
    // The notice stays under its lease; when that ends, the next server delivers it.
    if (error !== undefined && stop.aborted) return false
    const pause = error === undefined ? undefined : pauses_ms[notice.attempts - 1]
    const now_ms = now()
    const next_ms = pause === undefined ? null : now_ms + pause
    await store.transaction(async (tx) => {
      if (next_ms === null) await tx.keyed.delete(noticeCollection, [id])
      else await tx.keyed.put(noticeCollection, id, notice, { expires_ms: next_ms })
      await writeDelivery(tx, id, notice.body, now_ms, {
        state: error === undefined ? 'delivered' : next_ms === null ? 'abandoned' : 'waiting',
        attempts: notice.attempts,
        last_ms: now_ms,
        next_ms,
        error: error === undefined ? null : error instanceof Error ? error.message : String(error),
      })
    })
    if (error !== undefined) failed(id, notice.attempts, error, pause === undefined)
    return error === undefined
  }

  const work = async (stop: AbortSignal): Promise<number> => {
    let arrived = 0
    while (!stop.aborted) {
      // Reading the queue costs less than a transaction, and mostly nothing is due.
      const queued = await store.keyed.list(noticeCollection, { limit: looked })
      // If the page is full, due notices may be beyond it.
      if (queued.length < looked && !queued.some(({ expires_ms }) => expires_ms !== null && expires_ms <= now())) break
      const taken = await claim()
      if (taken.length === 0) break
      for (const [id, notice] of taken) if (!stop.aborted && (await deliver(id, notice, stop))) arrived++
    }
    return arrived
  }

  return startPeriodicJob({ every_ms: round_ms, after, work, failed: (error) => failed('', 0, error, false) })
}
