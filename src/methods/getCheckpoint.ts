/** cstp.getCheckpoint: a signed checkpoint of the evidence log. */
import * as v from 'valibot'
import { Hash } from '../../sdk/schema/evidence.ts'
import { SignedNote } from '../../sdk/schema/log.ts'
import { whole } from '../../sdk/schema/params.ts'
import { defineMethod } from '../calls/method.ts'

const d = v.description

export const getCheckpoint = defineMethod({
  summary: 'Returns a signed checkpoint of the evidence log, with its size and the root of its Merkle tree.',
  params: v.object({
    max_age_seconds: v.pipe(
      v.optional(whole(0, 3_600), 0),
      d('Maximum age of the checkpoint; by default a new one is created.'),
    ),
  }),
  result: v.object({
    origin: v.pipe(v.string(), d('Name of the log: the name of its key.')),
    size: v.pipe(v.number(), d('Number of records.')),
    root_hash: v.pipe(Hash, d('Root of the RFC 9162 Merkle tree, lowercase hex.')),
    head_hash: v.pipe(Hash, d('Hash of the last record; 64 zeros if there is none.')),
    note: SignedNote,
    verifier_key: v.pipe(v.string(), d('C2SP verifier key for the note.')),
    created_at: v.pipe(v.string(), d('When it was signed, RFC 3339, UTC.')),
  }),
  scope: 'read',
  effect: 'read',
  async handle({ checkpoints, signer }, { max_age_seconds }) {
    return { ...(await checkpoints.latest(max_age_seconds * 1_000)), verifier_key: signer.verifier_key }
  },
})
