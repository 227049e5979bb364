/**
 * Deliveries of GitHub's webhook as observed events, each delivery once.
 *
 * Nothing beside the chain remembers what was delivered. Each event holds the id and the digest of its delivery, and the log finds
 * records by them; a delivery is looked for in the same serialised append that adds its events. So its events and the knowledge that
 * it was taken in are one commit: a crash leaves both or neither, and of two processes the second sees what the first did. The digest
 * counts beside the id, as ids come in a header that the signature does not cover. A delivery without events leaves no trace, and needs
 * none.
 */
import * as v from 'valibot'
import type { EvidenceRecord } from '../../../../sdk/storage/evidence.ts'
import { NotInteroperable } from '../canonical.ts'
import type { Chain } from '../chain.ts'
import { checkRun, checkSuite } from './checks.ts'
import { type Delivery, type Kind, type Plan, type Seen, source, stored } from './parts.ts'
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

export type Taken =
  /** Nothing of it is recorded, or nothing was to be said. `seq` is null. Repeated: `seq` is that of the first time. */
  | { outcome: 'ingested' | 'nothing' | 'repeated'; ingested: number; first_seq: number | null }
  /** The body has not the form of its kind. */
  | { outcome: 'refused'; reason: string }

const nothing: Taken = { outcome: 'nothing', ingested: 0, first_seq: null }
/** A value that is quoted in a reason may be of any length. */
const longestReason = 200

/** What a delivery becomes; null where nothing of it is recorded. */
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
      reason: `the body is no ${delivery.kind} event: ${path ? `${path}: ` : ''}${issue.message.slice(0, longestReason)}`,
    }
  }
}

const seenOf = ({ event_type, ts, payload }: EvidenceRecord): Seen => ({ event_type, ts, payload: JSON.parse(payload) })

/** Appends what a delivery says as one batch, unless it is there. @throws CstpError where the chain is damaged */
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
