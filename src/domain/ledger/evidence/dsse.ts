/**
 * DSSE envelopes in Sigstore bundles, so that other verifiers can check what the key of a log signed.
 * @see DSSE protocol v1.0.2 (PAE); Sigstore bundle format v0.3
 */
import type { Signer } from '../engine/note.ts'

/** A Sigstore bundle around one DSSE envelope, without a certificate, an entry of a public log or a third party's timestamp. */
export interface SigstoreBundle {
  mediaType: 'application/vnd.dev.sigstore.bundle.v0.3+json'
  verificationMaterial: {
    /** Names the key; the key itself has to come from elsewhere. */
    publicKey: { hint: string }
    tlogEntries: []
    timestampVerificationData: { rfc3161Timestamps: [] }
  }
  dsseEnvelope: {
    /** Base64. */
    payload: string
    payloadType: string
    signatures: [{ sig: string; keyid: string }]
  }
}

/**
 * The signed bytes. They begin with `DSSEv1` and don't end in a newline, as every signed note does: one key can sign both, and neither
 * can be mistaken for the other.
 */
const preAuthEncoding = (type: string, payload: Buffer): Buffer =>
  Buffer.concat([Buffer.from(`DSSEv1 ${Buffer.byteLength(type)} ${type} ${payload.length} `), payload])

/** @param text payload, which must not end in a newline */
export function signEnvelope(
  signer: Pick<Signer, 'key_name' | 'signBytes'>,
  type: string,
  text: string,
): SigstoreBundle {
  if (text.endsWith('\n')) throw new Error('a payload that ends like a signed note')
  const payload = Buffer.from(text)
  const sig = signer.signBytes(preAuthEncoding(type, payload)).toString('base64')
  return {
    mediaType: 'application/vnd.dev.sigstore.bundle.v0.3+json',
    verificationMaterial: {
      publicKey: { hint: signer.key_name },
      tlogEntries: [],
      timestampVerificationData: { rfc3161Timestamps: [] },
    },
    dsseEnvelope: {
      payload: payload.toString('base64'),
      payloadType: type,
      signatures: [{ sig, keyid: signer.key_name }],
    },
  }
}
