/**
 * Ed25519 keys by name: key ids, and verifier keys as text.
 * @see C2SP signed-note, "Verifier keys"; C2SP tlog-cosignature
 */
import { createPublicKey, hash, type KeyObject } from 'node:crypto'

/** What a signature of a key says. The same key has another id for each. */
const signatureTypes = { note: 1, cosignature: 4 } as const
export type SignatureType = keyof typeof signatureTypes

/** What a signature is checked with. */
export interface Verifier {
  /** Non-empty, without spaces and plus. */
  name: string
  /** Eight lower-case hexadecimal digits. */
  id: string
  type: SignatureType
  key: KeyObject
  /** `name+id+base64(type || key)`. */
  text: string
}

/** Thrown for a verifier key or a note that is not of its form. Its message says what was expected and is safe to show. */
export class NoteError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'NoteError'
  }
}

/** A SubjectPublicKeyInfo of Ed25519 is this, then the 32 bytes of the key. */
const spkiPrefix = Buffer.from('302a300506032b6570032100', 'hex')
const keyLength = 32

/** Names are told apart by sight: no space of Unicode, no plus, nothing that moves a cursor. */
export const isKeyName = (name: string): boolean =>
  name !== '' && name.isWellFormed() && !/[\p{White_Space}\p{Cc}\p{Cf}+]/u.test(name)

/** Bytes of canonical base64; null for anything else. */
export function bytesOfBase64(text: string): Buffer | null {
  const bytes = Buffer.from(text, 'base64')
  return bytes.toString('base64') === text ? bytes : null
}

/** The 32 bytes of the public half of an Ed25519 key. */
const rawKey = (key: KeyObject): Buffer =>
  (key.type === 'public' ? key : createPublicKey(key)).export({ type: 'spki', format: 'der' }).subarray(-keyLength)

/** Sixteen hexadecimal digits that tell keys apart. */
export const fingerprint = (key: KeyObject): string => hash('sha256', rawKey(key), 'hex').slice(0, 16)

/** The verifier of a key's signatures. @param key its private or public half */
export function verifierOf(name: string, type: SignatureType, key: KeyObject): Verifier {
  if (!isKeyName(name)) throw new NoteError('expected a key name without spaces and plus')
  const typed = Buffer.concat([Buffer.from([signatureTypes[type]]), rawKey(key)])
  const id = hash('sha256', Buffer.concat([Buffer.from(`${name}\n`), typed]), 'hex').slice(0, 8)
  const publicKey = key.type === 'public' ? key : createPublicKey(key)
  return { name, id, type, key: publicKey, text: `${name}+${id}+${typed.toString('base64')}` }
}

/** Reads a verifier key. @throws NoteError */
export function parseVerifier(text: string): Verifier {
  const [, name = '', id = '', encoded = ''] =
    /^([^+]+)\+([0-9a-f]{8})\+([A-Za-z0-9+/]+={0,2})$/.exec(text.trim()) ?? []
  const bytes = bytesOfBase64(encoded)
  const types = Object.entries(signatureTypes) as [SignatureType, number][]
  const [type] = types.find(([, byte]) => byte === bytes?.[0]) ?? []
  if (!isKeyName(name) || bytes?.length !== 1 + keyLength || !type)
    throw new NoteError('expected a verifier key: name+hash+base64 of an Ed25519 key')
  const key = createPublicKey({ key: Buffer.concat([spkiPrefix, bytes.subarray(1)]), format: 'der', type: 'spki' })
  const verifier = verifierOf(name, type, key)
  if (verifier.id !== id)
    throw new NoteError(`expected a verifier key with the hash ${verifier.id} of its name and key`)
  return verifier
}
