/**
 * Records deliveries of GitHub's webhook as observed events, each delivery once.
 *
 * Deliveries are recorded only in the chain. Each event holds the id and the digest of its delivery, and the log finds records by them;
 * the serialised append that adds the events of a delivery first searches for the delivery. A crash therefore leaves all of its events or
 * none, and of two processes the second finds the events of the first. The digest is needed because the signature does not cover the
 * header with the id. A delivery without events leaves no record, and needs none.
 */
import * as v from 'valibot'
import type { EvidenceRecord } from '../../../../../sdk/storage/evidence.ts'
import { NotInteroperable } from '../../../../core/canonical.ts'
import { type Seen, source } from '../../../policy/facts/reviews.ts'
import type { Chain } from '../chain.ts'
import { checkRun, checkSuite } from './checks.ts'
import { type Delivery, type Kind, type Plan, stored } from './parts.ts'
import { pullRequest, review, reviewComment } from './pull-request.ts'
import { push } from './push.ts'

export type { Delivery }

const kinds: ReadonlyMap<string, Kind> = new Map([
  ['pull_request', pullRequest],
  ['pull_request_review', review],
  ['pull_request_review_comment', reviewComment],
  ['push', push],
  ['check_suite', checkSuite],
  ['check_run', checkRun],
])

/** The outcome of a delivery. */
export type Taken =
  /** `nothing`: no event was recorded. `repeated`: `first_seq` is the number of the earlier event. */
  | { outcome: 'ingested' | 'nothing' | 'repeated'; ingested: number; first_seq: number | null }
  /** The body does not have the form of its kind. */
  | { outcome: 'refused'; reason: string }

const nothing: Taken = { outcome: 'nothing', ingested: 0, first_seq: null }
/** A reason may quote a value of any length. */
const maxReason = 200

/** The plan of a delivery; null if nothing of it is recorded. */
function planOf(delivery: Delivery, bots: readonly string[]): Plan | null | { reason: string } {
  const found = kinds.get(delivery.kind)
  if (!found) return null
  try {
    return found.plan({ delivery, bots })
  } catch (error) {
    if (!v.isValiError(error)) throw error
    const [issue] = error.issues
    const path = v.getDotPath(issue)
    return {
      reason: `the body is not a ${delivery.kind} event: ${path ? `${path}: ` : ''}${issue.message.slice(0, maxReason)}`,
    }
  }
}

const seenOf = ({ event_type, ts, payload, evidence_class }: EvidenceRecord): Seen => ({
  event_type,
  ts,
  payload: JSON.parse(payload),
  ...(evidence_class === 'inferred' && { is_inferred: true }),
})

/** Appends the events of a delivery as one batch, unless they are in the log already. @throws CstpError if the chain is damaged */
export async function takeDelivery(chain: Chain, delivery: Delivery, bots: readonly string[]): Promise<Taken> {
  const plan = planOf(delivery, bots)
  if (plan === null) return nothing
  if ('reason' in plan) return { outcome: 'refused', reason: plan.reason }
  const { id, body_sha256 } = delivery
  let repeats: number | null = null
  let ingested = 0
  try {
    const { first_seq } = await chain.append(
      (records) => {
        const known = records
          .filter((record) => record.source === source)
          .map((record) => ({ seq: record.seq, ...seenOf(record) }))
        repeats =
          known.find(({ payload }) => payload.delivery_id === id || payload.body_sha256 === body_sha256)?.seq ?? null
        const ofRepo = known.filter(({ payload }) => payload.repo === plan.repo)
        const events = repeats === null ? plan.events(ofRepo).map((seen) => stored(seen, delivery)) : []
        ingested = events.length
        return events
      },
      [...plan.keys, { field: 'delivery_id', value: id }, { field: 'body_sha256', value: body_sha256 }],
    )
    if (repeats !== null) return { outcome: 'repeated', ingested, first_seq: repeats }
    return ingested === 0 ? nothing : { outcome: 'ingested', ingested, first_seq }
  } catch (error) {
    if (!(error instanceof NotInteroperable)) throw error
    return { outcome: 'refused', reason: `${error.path.join('.')}: ${error.message}` }
  }
}
