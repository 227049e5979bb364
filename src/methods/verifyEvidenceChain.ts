/** cstp.verifyEvidenceChain: walks the whole evidence chain. */
import * as v from 'valibot'
import { Hash } from '../../sdk/schema/evidence.ts'
import { defineMethod } from '../calls/method.ts'

const d = v.description

export const verifyEvidenceChain = defineMethod({
  summary:
    'Walks the whole evidence chain: every record must follow the one before it, the Merkle tree must be theirs, and every exported head must stand in it.',
  params: v.object({
    expected_head_hash: v.pipe(
      v.nullish(Hash, null),
      d('A hash that must stand in the chain, so that a tail cut off shows; by default that of the latest export.'),
    ),
  }),
  result: v.object({
    intact: v.pipe(v.boolean(), d('Whether nothing is wrong.')),
    broken_at_seq: v.pipe(
      v.nullable(v.number()),
      d('The first record that does not follow; null where each does, even if the end is missing.'),
    ),
    head_hash: v.pipe(v.string(), d('Hash of the last record; 64 zeros for an empty chain.')),
    expected_hash: v.pipe(v.nullable(v.string()), d('The hash that was looked for; null where there was none.')),
    tail_check: v.pipe(v.boolean(), d('Whether a hash was looked for.')),
    reason: v.pipe(v.nullable(v.string()), d('What is wrong; null where nothing is.')),
    records: v.pipe(v.number(), d('Records that follow, from the first on.')),
  }),
  scope: 'read',
  effect: 'read',
  failure: 'internal_error',
  handle: ({ chain }, { expected_head_hash }) => chain.verify(expected_head_hash),
})
