/** What the methods of the evidence log tell about its Merkle tree. */
import * as v from 'valibot'

const d = v.description

/** A hash in results. */
export const Hash = v.pipe(v.string(), v.regex(/^[0-9a-f]{64}$/, '64 lower-case hexadecimal digits'))

/** The hashes of a proof. */
export const ProofHashes = v.pipe(v.array(Hash), d('SHA-256, lowercase hex, in the order of RFC 9162.'))

/** A signed note. */
export const SignedNote = v.pipe(v.string(), d('Checkpoint in the C2SP tlog-checkpoint form, signed with Ed25519.'))
