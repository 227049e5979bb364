/** cstp.getConsistencyProof: a proof that the evidence log was only appended to between two sizes. */
import * as v from 'valibot'
import { invalidParam } from '../../sdk/errors.ts'
import { Hash } from '../../sdk/schema/evidence.ts'
import { ProofHashes } from '../../sdk/schema/log.ts'
import { whole } from '../../sdk/schema/params.ts'
import { defineMethod } from '../calls/method.ts'
import { proveConsistency } from '../domain/ledger/engine/proof.ts'

const d = v.description
const most = Number.MAX_SAFE_INTEGER

export const getConsistencyProof = defineMethod({
  summary:
    'Proves that the evidence log is append-only: that its tree of one size starts with its tree of a smaller size.',
  params: v.object({
    old: v.pipe(whole(0, most), d('Size of the older checkpoint.')),
    new: v.optional(v.pipe(whole(0, most), d('Size of the newer checkpoint; by default the current size of the log.'))),
  }),
  result: v.object({
    old: v.pipe(v.number(), d('Size of the older tree.')),
    new: v.pipe(v.number(), d('Size of the newer tree.')),
    old_root: v.pipe(Hash, d('Root of the older tree.')),
    new_root: v.pipe(Hash, d('Root of the newer tree.')),
    hashes: ProofHashes,
  }),
  scope: 'read',
  effect: 'read',
  async handle({ evidence }, { old, new: given }) {
    const head = await evidence.head()
    const { seq: end } = head
    const size = given ?? end
    if (size > end) throw invalidParam('new', `at most ${end}`, String(size), `the log has ${end} records`)
    if (old > size)
      throw invalidParam(
        'old',
        `at most ${size}`,
        String(old),
        given === undefined ? `the log has ${end} records` : 'is more than new',
      )
    return proveConsistency(evidence, old, size, head)
  },
})
