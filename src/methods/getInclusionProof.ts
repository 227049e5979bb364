/** cstp.getInclusionProof: a proof that a record is in the evidence log, for anyone with a checkpoint. */
import * as v from 'valibot'
import { invalidParam } from '../../sdk/errors.ts'
import { Hash } from '../../sdk/schema/evidence.ts'
import { ProofHashes, SignedNote } from '../../sdk/schema/log.ts'
import { whole } from '../../sdk/schema/params.ts'
import { defineMethod } from '../calls/method.ts'
import { proveInclusion } from '../domain/ledger/engine/proof.ts'

const d = v.description
const most = Number.MAX_SAFE_INTEGER

export const getInclusionProof = defineMethod({
  summary: 'Proves that a record is in the evidence log, with the hashes from the record to the root of a checkpoint.',
  params: v.object({
    seq: v.pipe(whole(1, most), d('Number of the record.')),
    size: v.optional(
      v.pipe(whole(1, most), d('Size of the checkpoint that the caller has; by default that of a new one.')),
    ),
  }),
  result: v.object({
    seq: v.pipe(v.number(), d('Number of the record.')),
    index: v.pipe(v.number(), d('Its position in the tree, from 0 (`seq` − 1).')),
    size: v.pipe(v.number(), d('Size of the tree, in records.')),
    record_hash: v.pipe(Hash, d('Hash of the record in the chain.')),
    leaf_hash: v.pipe(Hash, d('`SHA-256(0x00 || record hash)`.')),
    root_hash: v.pipe(Hash, d('Root of the tree of that size.')),
    hashes: ProofHashes,
    checkpoint: v.pipe(v.nullable(SignedNote), d('Signed checkpoint of that size; null if `size` was given.')),
  }),
  scope: 'read',
  effect: 'read',
  async handle({ evidence, checkpoints }, { seq, size: held }) {
    const signed = held === undefined ? await checkpoints.latest() : null
    const end = signed?.size ?? (await evidence.head()).seq
    const size = held ?? end
    if (size > end) throw invalidParam('size', `at most ${end}`, String(size), `the log has ${end} records`)
    if (seq > size)
      throw invalidParam(
        'seq',
        `at most ${size}`,
        String(seq),
        `${held === undefined ? 'the log' : 'that checkpoint'} has ${size} records`,
      )
    return { ...(await proveInclusion(evidence, seq, size, signed?.root_hash)), checkpoint: signed?.note ?? null }
  },
})
