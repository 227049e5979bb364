/** cstp.listEvidence: the records of the evidence chain, in order of number, ascending or descending. */
import * as v from 'valibot'
import { nonEmptyText } from '../../sdk/schema/decision.ts'
import { EvidenceClass, EvidenceEntry } from '../../sdk/schema/evidence.ts'
import { shortened, whole } from '../../sdk/schema/params.ts'
import { defineMethod } from '../calls/method.ts'
import { listEvidence as list } from '../domain/ledger/evidence/events.ts'

const d = v.description
const seq = whole(1, Number.MAX_SAFE_INTEGER)

export const listEvidence = defineMethod({
  summary: 'Lists records of the evidence chain by number, type and class, oldest or newest first.',
  params: v.object({
    seq_from: v.pipe(
      v.optional(seq, 1),
      d('Minimum number (inclusive); with order `asc`, `next_seq` of the previous page.'),
    ),
    seq_to: v.pipe(
      v.optional(seq, Number.MAX_SAFE_INTEGER),
      d('Maximum number (inclusive); with order `desc`, `next_seq` of the previous page.'),
    ),
    event_type: v.optional(v.pipe(nonEmptyText(128), d('Only this type.'))),
    evidence_class: v.optional(v.pipe(EvidenceClass, d('Only records of this class.'))),
    order: v.pipe(v.optional(v.picklist(['asc', 'desc']), 'asc'), d('Order by number; `desc` lists the newest first.')),
    limit: v.optional(whole(1, 500), 50),
  }),
  result: v.object({
    events: v.pipe(v.array(EvidenceEntry), d('The records.')),
    next_seq: v.pipe(
      v.nullable(v.number()),
      d(
        'Number to continue from; null on the last page. With a rare type, a page may contain few records without being the last.',
      ),
    ),
    shortened,
  }),
  scope: 'read',
  page: { list: 'events', after: (_last: object, { seq: next_seq }: { seq: number }) => ({ next_seq }) },
  effect: 'read',
  async handle({ evidence }, query) {
    const { records, next_seq } = await list(evidence, query)
    return { events: records.map((record) => ({ ...record, payload: JSON.parse(record.payload) })), next_seq }
  },
})
