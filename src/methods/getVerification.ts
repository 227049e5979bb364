/** cstp.getVerification: progress of the evidence chain's verification, and the latest result. */
import * as v from 'valibot'
import { defineMethod } from '../calls/method.ts'

const d = v.description
const instant = (ms: number): string => new Date(ms).toISOString()

export const getVerification = defineMethod({
  summary:
    'Returns the progress of the verification of the evidence chain on this server, and the result of the latest one.',
  params: v.object({}),
  result: v.object({
    running: v.pipe(v.boolean(), d('Whether this server is verifying the chain now.')),
    records: v.pipe(v.nullable(v.number()), d('Records verified so far; null if no verification is running.')),
    total: v.pipe(
      v.nullable(v.number()),
      d('Records to verify; null if no verification is running, or if the head was not read yet.'),
    ),
    started_at: v.pipe(
      v.nullable(v.string()),
      d('When it started, RFC 3339, UTC; null if no verification is running.'),
    ),
    latest: v.pipe(
      v.nullable(
        v.object({
          intact: v.pipe(
            v.boolean(),
            d('False if this server knows of damage, found by this verification or by an append since.'),
          ),
          broken_at_seq: v.pipe(
            v.nullable(v.number()),
            d('The first record that does not follow its predecessor; null if there is none.'),
          ),
          reason: v.pipe(v.nullable(v.string()), d('The damage found; null if there is none.')),
          records: v.pipe(v.number(), d('Number of intact records from the start.')),
          started_at: v.pipe(v.string(), d('When that verification started, RFC 3339, UTC.')),
          finished_at: v.pipe(v.string(), d('When that verification ended, RFC 3339, UTC.')),
        }),
      ),
      d(
        'The latest verification completed on this server; null before the first. It does not cover the `expected_head_hash` of a call.',
      ),
    ),
  }),
  scope: 'read',
  effect: 'read',
  cost: 16,
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
