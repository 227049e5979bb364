/** Results that the methods of the evidence log share: proofs and signed notes. */
import * as v from 'valibot'
import { Hash } from './evidence.ts'

const d = v.description

/** The hashes of a proof. */
export const ProofHashes = v.pipe(v.array(Hash), d('SHA-256 hashes, lowercase hex, in the order of RFC 9162.'))

/** A signed note. */
export const SignedNote = v.pipe(v.string(), d('Checkpoint in the C2SP tlog-checkpoint form, signed with Ed25519.'))
