/** The verifier of the Sigstore project, given the key of a log and no other trust. */
import { createPublicKey } from 'node:crypto'
import { bundleFromJSON } from '@sigstore/bundle'
import { toSignedEntity, Verifier } from '@sigstore/verify'

/** @param verifier_key `name+hash+base64` @throws when it refuses the bundle */
export function verifyWithSigstore(bundle: unknown, verifier_key: string): void {
  const [name, id, ...encoded] = verifier_key.split('+')
  const raw = Buffer.from(encoded.join('+'), 'base64').subarray(1)
  const der = Buffer.concat([Buffer.from('302a300506032b6570032100', 'hex'), raw])
  const publicKey = createPublicKey({ key: der, format: 'der', type: 'spki' })
  const trust = {
    certificateAuthorities: [],
    timestampAuthorities: [],
    tlogs: [],
    ctlogs: [],
    publicKey(hint: string) {
      if (hint !== `${name}+${id}`) throw new Error(`unknown key ${hint}`)
      return { publicKey, validFor: () => true }
    },
  }
  const none = { tlogThreshold: 0, ctlogThreshold: 0, timestampThreshold: 0 }
  new Verifier(trust, none).verify(toSignedEntity(bundleFromJSON(bundle)))
}
