/** cstp.listDeliveries: the notices of the webhook, each with its state. */
import * as v from 'valibot'
import { nonEmptyText } from '../../sdk/schema/decision.ts'
import { shortened, whole } from '../../sdk/schema/params.ts'
import { defineMethod } from '../calls/method.ts'
import { afterDelivery, listDeliveries as list } from '../domain/record/approval/notices.ts'

const d = v.description
const State = v.picklist(['waiting', 'delivered', 'abandoned'])

const Delivery = v.object({
  id: v.pipe(v.string(), d('The `webhook-id` of the notice.')),
  type: v.pipe(v.string(), d('Type of the notice, such as `approval.requested`.')),
  queued_at: v.pipe(v.string(), d('When it was queued, RFC 3339.')),
  state: v.pipe(State, d('`waiting` for its next attempt, or `abandoned` after the last one.')),
  attempts: v.pipe(v.number(), d('Number of attempts.')),
  last_attempt_at: v.pipe(v.nullable(v.string()), d('RFC 3339; null before the first attempt.')),
  next_attempt_at: v.pipe(v.nullable(v.string()), d('RFC 3339; null if there is none.')),
  error: v.pipe(v.nullable(v.string()), d('Why the latest attempt failed; null otherwise.')),
})

export const listDeliveries = defineMethod({
  summary: 'Lists the notices of the webhook of the last 30 days, newest first, each with its state and last error.',
  params: v.object({
    state: v.optional(v.pipe(State, d('Only deliveries in this state.'))),
    cursor: v.optional(v.pipe(nonEmptyText(256), d('`next_cursor` of the previous page.'))),
    limit: v.pipe(v.optional(whole(1, 500), 50), d('Maximum number of deliveries.')),
  }),
  result: v.object({
    deliveries: v.pipe(v.array(Delivery), d('The deliveries.')),
    next_cursor: v.pipe(v.nullable(v.string()), d('Null on the last page.')),
    shortened,
  }),
  scope: 'admin',
  page: { list: 'deliveries', after: (last: v.InferOutput<typeof Delivery>) => ({ next_cursor: afterDelivery(last) }) },
  effect: 'read',
  async handle({ store }, { state, cursor, limit }) {
    const deliveries = await list(store.keyed, { state, after: cursor, limit })
    const last = deliveries.at(-1)
    return { deliveries, next_cursor: deliveries.length === limit && last ? afterDelivery(last) : null }
  },
})
