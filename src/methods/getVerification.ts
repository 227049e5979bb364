/** cstp.getVerification: progress of the evidence chain's verification, and the latest result. */
import * as v from 'valibot'
import { defineMethod } from '../calls/method.ts'

const d = v.description
const instant = (ms: number): string => new Date(ms).toISOString()

export const getVerification = defineMethod({
  summary:
    'Shows the progress of a verification of the evidence chain on this server, and the result of the latest one.',
  params: v.object({}),
  result: v.object({
    running: v.pipe(v.boolean(), d('Whether this server walks the chain now.')),
    records: v.pipe(v.nullable(v.number()), d('Records walked so far; null if none is under way.')),
    total: v.pipe(
      v.nullable(v.number()),
      d('Records to be walked; null if none is under way, or if the head was not read yet.'),
    ),
    started_at: v.pipe(v.nullable(v.string()), d('When it began, RFC 3339, UTC; null if none is under way.')),
    latest: v.pipe(
      v.nullable(
        v.object({
          intact: v.pipe(
            v.boolean(),
            d('Whether no damage is known to this server, found by this walk or by an append since.'),
          ),
          broken_at_seq: v.pipe(v.nullable(v.number()), d('The first record that does not follow; null if each does.')),
          reason: v.pipe(v.nullable(v.string()), d('The damage found; null if there is none.')),
          records: v.pipe(v.number(), d('Records that follow, from the first on.')),
          started_at: v.pipe(v.string(), d('When that walk began, RFC 3339, UTC.')),
          finished_at: v.pipe(v.string(), d('When it ended, RFC 3339, UTC.')),
        }),
      ),
      d(
        'The latest walk that ended on this server; null before the first. It does not cover a hash that a caller expected.',
      ),
    ),
  }),
  scope: 'read',
  effect: 'read',
  failure: 'internal_error',
  async handle({ chain }) {
    const walking = chain.walking()
    const latest = chain.latest()
    return {
      running: walking !== null,
      records: walking?.records ?? null,
      total: walking?.total ?? null,
      started_at: walking && instant(walking.started_ms),
      latest: latest && {
        intact: latest.intact,
        broken_at_seq: latest.broken_at_seq,
        reason: latest.reason,
        records: latest.records,
        started_at: instant(latest.started_ms),
        finished_at: instant(latest.finished_ms),
      },
    }
  },
})
