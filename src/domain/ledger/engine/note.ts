/**
 * Signed notes: a human-readable text, followed by lines with signatures.
 * @see C2SP signed-note; C2SP tlog-cosignature for the signatures of witnesses
 */
import { createPublicKey, hash, type KeyObject, sign, verify } from 'node:crypto'

/** Signs notes in the name of a log. */
export interface Signer {
  /** Key name, which is the origin of the log's checkpoints. */
  name: string
  /** The verifier key as text, which is public. */
  verifier_key: string
  /** `name+hash`: the verifier key without the key. */
  key_name: string
  /** Signs a text as a note. @param text lines, each with its newline @throws NoteError if a note can't hold it */
  sign(text: string): string
  /** The bare signature of bytes, for formats other than a note; their signed bytes must not end in a newline. */
  signBytes(bytes: Uint8Array): Buffer
}

interface Note {
  /** The signed text, with its last newline. */
  text: string
  signatures: {
    name: string
    /** Eight lower-case hexadecimal digits. */
    id: string
    /** The bytes after the key id. */
    bytes: Buffer
    /** The whole line, with its newline. */
    line: string
  }[]
}

/** A signature that was found valid. */
interface Verified {
  verifier: Verifier
  /** When a witness cosigned, in seconds since 1970; null for a signature of a log. */
  timestamp: number | null
}

const maxCharacters = 262_144
const maxSignatures = 100
const signatureLength = 64
const timestampLength = 8

/** @throws NoteError */
function checkText(text: string): void {
  if (text.length > maxCharacters) throw new NoteError(`expected a note of at most ${maxCharacters} characters`)
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is refused
  if (!text.isWellFormed() || /[\x00-\x09\x0b-\x1f]/.test(text))
    throw new NoteError('expected a note without control characters and lone surrogates')
  if (!text.endsWith('\n')) throw new NoteError('expected a note that ends with a newline')
}

/** Reads a note without checking its signatures. @throws NoteError */
export function parseNote(note: string): Note {
  checkText(note)
  const end = note.lastIndexOf('\n\n')
  if (end === -1) throw new NoteError('expected a note with an empty line before its signatures')
  const lines = note.slice(end + 2, -1).split('\n')
  if (lines.length > maxSignatures) throw new NoteError(`expected a note of at most ${maxSignatures} signatures`)
  const signatures = lines.map((line) => {
    const [, name = '', encoded = ''] = /^— ([^ ]+) ([^ ]+)$/.exec(line) ?? []
    const bytes = bytesOfBase64(encoded)
    if (!isKeyName(name) || bytes === null || bytes.length < 5)
      throw new NoteError('expected signature lines of the form "— name base64"')
    return { name, id: bytes.toString('hex', 0, 4), bytes: bytes.subarray(4), line: `${line}\n` }
  })
  return { text: note.slice(0, end + 1), signatures }
}

const signatureLine = ({ name, id }: Verifier, bytes: Buffer): string =>
  `— ${name} ${Buffer.concat([Buffer.from(id, 'hex'), bytes]).toString('base64')}\n`

/** The bytes that a witness signs: the time and the text. */
const cosigned = (text: string, timestamp: bigint): Buffer => Buffer.from(`cosignature/v1\ntime ${timestamp}\n${text}`)

/** A signer of notes. @param key a private Ed25519 key */
export function signerOf(name: string, key: KeyObject): Signer {
  const verifier = verifierOf(name, 'note', key)
  return {
    name,
    verifier_key: verifier.text,
    key_name: `${name}+${verifier.id}`,
    sign(text) {
      checkText(text)
      return `${text}\n${signatureLine(verifier, sign(null, Buffer.from(text), key))}`
    },
    signBytes: (bytes) => sign(null, bytes, key),
  }
}

/**
 * Adds a witness's signature to a note; it replaces an older one of the same witness.
 * @param timestamp seconds since 1970
 * @throws NoteError for an invalid note
 */
export function cosign(note: string, witness: Verifier, key: KeyObject, timestamp: number): string {
  const { text, signatures } = parseNote(note)
  const time = Buffer.alloc(timestampLength)
  time.writeBigUInt64BE(BigInt(timestamp))
  const line = signatureLine(witness, Buffer.concat([time, sign(null, cosigned(text, BigInt(timestamp)), key)]))
  const others = signatures.filter(({ name, id }) => name !== witness.name || id !== witness.id)
  return `${text}\n${others.map((one) => one.line).join('')}${line}`
}

function check(text: string, bytes: Buffer, verifier: Verifier): Verified | null {
  if (verifier.type === 'note') {
    const holds = bytes.length === signatureLength && verify(null, Buffer.from(text), verifier.key, bytes)
    return holds ? { verifier, timestamp: null } : null
  }
  if (bytes.length !== timestampLength + signatureLength) return null
  const timestamp = bytes.readBigUInt64BE()
  // Later times can't be represented exactly; the specification itself ends at 2^63 − 1.
  if (timestamp > BigInt(Number.MAX_SAFE_INTEGER)) return null
  const holds = verify(null, cosigned(text, timestamp), verifier.key, bytes.subarray(timestampLength))
  return holds ? { verifier, timestamp: Number(timestamp) } : null
}

/**
 * The text of a note that is signed by at least one of the verifiers. Signatures of unknown keys are ignored.
 * @returns the text, and the valid signatures
 * @throws NoteError for an invalid note, an invalid signature of a known key, or a note without a known key's signature
 */
export function openNote(note: string, verifiers: readonly Verifier[]): { text: string; verified: Verified[] } {
  const { text, signatures } = parseNote(note)
  const verified: Verified[] = []
  for (const { name, id, bytes } of signatures) {
    const verifier = verifiers.find((one) => one.name === name && one.id === id)
    if (!verifier) continue
    const found = check(text, bytes, verifier)
    if (!found) throw new NoteError(`the signature of ${name} does not match the text`)
    verified.push(found)
  }
  if (verified.length === 0)
    throw new NoteError(`expected a signature of ${verifiers.map(({ name }) => name).join(' or ')}`)
  return { text, verified }
}

/** Types of signatures. The id of a key depends on its type. @see C2SP signed-note, "Verifier keys"; C2SP tlog-cosignature */
const signatureTypes = { note: 1, cosignature: 4 } as const
type SignatureType = keyof typeof signatureTypes

/** A public key that checks signatures. */
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

/** Thrown for an invalid verifier key or note. Its message says what was expected and is safe to show. */
export class NoteError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'NoteError'
  }
}

/** An Ed25519 SubjectPublicKeyInfo is this prefix followed by the 32 bytes of the key. */
const spkiPrefix = Buffer.from('302a300506032b6570032100', 'hex')
const keyLength = 32

/** Names are compared by eye: no Unicode space, no plus, no control or format characters. */
const isKeyName = (name: string): boolean =>
  name !== '' && name.isWellFormed() && !/[\p{White_Space}\p{Cc}\p{Cf}+]/u.test(name)

/** Bytes of canonical base64; null for anything else. */
export function bytesOfBase64(text: string): Buffer | null {
  const bytes = Buffer.from(text, 'base64')
  return bytes.toString('base64') === text ? bytes : null
}

/** The 32 bytes of the public half of an Ed25519 key. */
const rawKey = (key: KeyObject): Buffer =>
  (key.type === 'public' ? key : createPublicKey(key)).export({ type: 'spki', format: 'der' }).subarray(-keyLength)

/** Sixteen hexadecimal digits that identify a key. */
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
