/** cstp.verifyEvidenceChain: verifies the whole evidence chain. */
import * as v from 'valibot'
import { Hash } from '../../sdk/schema/evidence.ts'
import { defineMethod } from '../calls/method.ts'
import { Verification } from '../domain/ledger/evidence/results.ts'

const d = v.description

export const verifyEvidenceChain = defineMethod({
  summary:
    'Verifies the whole evidence chain: every record must follow its predecessor, the Merkle tree must match the records, and the chain must contain every exported head.',
  params: v.object({
    expected_head_hash: v.pipe(
      v.nullish(Hash, null),
      d('A hash that the chain must contain, to detect truncation; by default the head of the latest export.'),
    ),
  }),
  result: Verification,
  scope: 'read',
  effect: 'read',
  cost: 32,
  handle: ({ chain }, { expected_head_hash }) => chain.verify(expected_head_hash),
})
