/**
 * The verifier's own parser of signed notes, checkpoints and keys.
 * @see C2SP signed-note, tlog-checkpoint, tlog-cosignature
 */
import { createHash, createPublicKey, hash as digestOf, type KeyObject, verify } from 'node:crypto'

/** A public key with a name. `kind` says whether it signs for a log or for a witness. */
export interface NoteKey {
  name: string
  id: string
  kind: 'log' | 'witness'
  key: KeyObject
  /** `name+hash+base64`. */
  text: string
}

/** Thrown for an invalid key, note or checkpoint. */
export class NoteFormError extends Error {
  override name = 'NoteFormError'
}

/** The DER prefix of the 32 bytes of an Ed25519 key. */
const derHead = '302a300506032b6570032100'
const kinds: Record<number, NoteKey['kind']> = { 1: 'log', 4: 'witness' }

/** Bytes of canonical base64; null for anything else. */
export function base64(text: string): Buffer | null {
  const bytes = Buffer.from(text, 'base64')
  return text !== '' && bytes.toString('base64') === text ? bytes : null
}

/** Reads `name+hash+base64`. @throws NoteFormError */
export function readKey(text: string): NoteKey {
  const parts = text.trim().split('+')
  const [name = '', id = ''] = parts
  // The last part is base64, which may contain a plus itself.
  const bytes = base64(parts.slice(2).join('+'))
  const kind = kinds[bytes?.[0] ?? 0]
  if (name === '' || /\s/.test(name) || !bytes || bytes.length !== 33 || !kind)
    throw new NoteFormError('expected a key of the form name+hash+base64, as /.well-known/cstp-evidence-key shows it')
  const right = createHash('sha256').update(`${name}\n`).update(bytes).digest('hex').slice(0, 8)
  if (right !== id)
    throw new NoteFormError(`the hash in the key ${name} is ${id}, but should be ${right}: is it mistyped?`)
  const der = Buffer.concat([Buffer.from(derHead, 'hex'), bytes.subarray(1)])
  return { name, id, kind, key: createPublicKey({ key: der, format: 'der', type: 'spki' }), text: text.trim() }
}

/** A signed note of any text. */
export interface SignedNote {
  text: string
  signatures: { name: string; id: string; bytes: Buffer }[]
}

export interface ReadNote extends SignedNote {
  origin: string
  size: number
  /** Lowercase hex. */
  root_hash: string
}

/** Reads a signed note without checking its signatures. @throws NoteFormError */
export function readSigned(note: string): SignedNote {
  const gap = note.lastIndexOf('\n\n')
  if (gap === -1 || !note.endsWith('\n'))
    throw new NoteFormError('is not a signed note: text, an empty line, signatures')
  const text = note.slice(0, gap + 1)
  const signatures = note
    .slice(gap + 2, -1)
    .split('\n')
    .map((line) => {
      const [dash, name = '', encoded = '', more] = line.split(' ')
      const bytes = base64(encoded)
      if (dash !== '—' || name === '' || more !== undefined || !bytes || bytes.length < 5)
        throw new NoteFormError('has an invalid line among its signatures')
      return { name, id: bytes.toString('hex', 0, 4), bytes: bytes.subarray(4) }
    })
  return { text, signatures }
}

/** Reads the note of a checkpoint without checking its signatures. @throws NoteFormError */
export function readNote(note: string): ReadNote {
  const { text, signatures } = readSigned(note)
  const [origin = '', size = '', root = ''] = text.split('\n')
  const hash = base64(root)
  if (
    origin === '' ||
    !/^(?:0|[1-9]\d{0,15})$/.test(size) ||
    !Number.isSafeInteger(Number(size)) ||
    hash?.length !== 32
  )
    throw new NoteFormError('is not a checkpoint: the name of the log, its size, its root')
  return { text, signatures, origin, size: Number(size), root_hash: hash.toString('hex') }
}

/** Whether a key signed a note (with the time for a witness), did not sign it, or has an invalid signature in it. */
export function signedBy(
  { text, signatures }: SignedNote,
  { name, id, kind, key }: NoteKey,
): 'no' | 'wrong' | { at: number | null } {
  const own = signatures.find((one) => one.name === name && one.id === id)
  if (!own) return 'no'
  if (kind === 'log') return verify(null, Buffer.from(text), key, own.bytes) ? { at: null } : 'wrong'
  if (own.bytes.length !== 72) return 'wrong'
  const time = own.bytes.readBigUInt64BE()
  const message = Buffer.from(`cosignature/v1\ntime ${time}\n${text}`)
  return verify(null, message, key, own.bytes.subarray(8)) ? { at: Number(time) } : 'wrong'
}

/** Checks that a key signed a note. @returns the signer: its name and key id, or the time for a witness */
export function checkSigner(note: SignedNote, key: NoteKey, failed: (why: string) => void): string {
  const signed = signedBy(note, key)
  if (signed === 'no') failed(`${key.name} with the key ${key.id} did not sign it`)
  else if (signed === 'wrong') failed(`the signature of ${key.name} does not match it`)
  else if (signed.at !== null) return `${key.name} at ${instant(signed.at)}`
  return `${key.name}+${key.id}`
}

/** @param seconds since 1970, as a witness states them */
export const instant = (seconds: number): string => {
  const at = new Date(seconds * 1_000)
  return Number.isNaN(at.getTime()) ? `second ${seconds}` : at.toISOString()
}

/** Reads a part of a file. @returns null for an invalid part, with the reason given to `failed` */
export function reading<T>(read: () => T, failed: (why: string) => void): T | null {
  try {
    return read()
  } catch (error) {
    if (!(error instanceof NoteFormError)) throw error
    failed(error.message)
    return null
  }
}

const digest = (prefix: number, ...parts: Uint8Array[]): Buffer =>
  digestOf('sha256', Buffer.concat([Uint8Array.of(prefix), ...parts]), 'buffer')

/** The verifier's own Merkle tree over a growing list of record hashes. @see RFC 9162 section 2.1 */
export interface Merkle {
  /** @param record_hash 64 hexadecimal digits */
  add(record_hash: string): void
  /** Root over the records added so far, lowercase hex. */
  root(): string
}

export function openMerkle(): Merkle {
  /** Roots of full subtrees, the largest first, with the number of their records. */
  const stack: { size: number; hash: Buffer }[] = []
  return {
    add(record_hash) {
      let node = { size: 1, hash: digest(0, Buffer.from(record_hash, 'hex')) }
      while (stack.at(-1)?.size === node.size) {
        const left = stack.pop()!
        node = { size: 2 * node.size, hash: digest(1, left.hash, node.hash) }
      }
      stack.push(node)
    },
    root() {
      let root: Buffer | null = null
      for (const { hash } of [...stack].reverse()) root = root ? digest(1, hash, root) : hash
      return (root ?? digestOf('sha256', '', 'buffer')).toString('hex')
    },
  }
}
