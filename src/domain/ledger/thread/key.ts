/** The key of the thread, derived from that of the evidence log: there is only one key file, but each origin has its own key. */
import { createPrivateKey, hkdfSync, type KeyObject } from 'node:crypto'
import { type Signer, signerOf } from '../engine/note.ts'

/** An Ed25519 private key in PKCS#8 is this prefix, followed by the 32 bytes of its seed. */
const pkcs8Prefix = Buffer.from('302e020100300506032b657004220420', 'hex')
const seedLength = 32

/**
 * Signs the thread's checkpoints: seed = HKDF-SHA256(seed of the evidence key, no salt, "cstp/thread/v1").
 * @param origin of the evidence log
 * @param key private Ed25519 key of the evidence log
 * @see RFC 5869
 */
export function threadSigner(origin: string, key: KeyObject): Signer {
  const seed = key.export({ type: 'pkcs8', format: 'der' }).subarray(-seedLength)
  const derived = Buffer.from(hkdfSync('sha256', seed, Buffer.alloc(0), 'cstp/thread/v1', seedLength))
  const own = createPrivateKey({ key: Buffer.concat([pkcs8Prefix, derived]), format: 'der', type: 'pkcs8' })
  return signerOf(`${origin}/thread`, own)
}
