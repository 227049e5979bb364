/** cstp.verifyEvidenceChain: verifies the whole evidence chain. */
import * as v from 'valibot'
import { Hash } from '../../sdk/schema/evidence.ts'
import { defineMethod } from '../calls/method.ts'
import { Verification } from '../domain/evidence/results.ts'

const d = v.description

export const verifyEvidenceChain = defineMethod({
  summary:
    'Walks the whole evidence chain: every record must follow the one before it, the Merkle tree must match them, and every exported head must be in it.',
  params: v.object({
    expected_head_hash: v.pipe(
      v.nullish(Hash, null),
      d('A hash that must be in the chain, so that a truncated tail is found; by default that of the latest export.'),
    ),
  }),
  result: Verification,
  scope: 'read',
  effect: 'read',
  failure: 'internal_error',
  handle: ({ chain }, { expected_head_hash }) => chain.verify(expected_head_hash),
})
