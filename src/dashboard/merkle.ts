/** Proofs of the logs, recomputed in the browser: the path of hashes from a leaf to the signed root. */
import { texts } from './texts.ts'

const t = texts.merkle

/** A step of a recomputed inclusion proof. @see RFC 9162, section 2.1.3.2 */
export interface Step {
  /** Side of the sibling; null at the leaf. */
  side: 'left' | 'right' | null
  sibling: string | null
  hash: string
}

const bytesOf = (hex: string): Uint8Array =>
  Uint8Array.from(hex.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16))
const hexOf = (bytes: ArrayLike<number>): string =>
  Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')

/** Lowercase hex SHA-256 of the parts one after the other: bytes, single bytes, or hexadecimal digits. */
export async function sha256(...parts: (Uint8Array | number | string)[]): Promise<string> {
  const bytes = parts.flatMap((part) =>
    typeof part === 'number' ? [part] : [...(typeof part === 'string' ? bytesOf(part) : part)],
  )
  return hexOf(new Uint8Array(await crypto.subtle.digest('SHA-256', Uint8Array.from(bytes))))
}

/**
 * The hashes from the leaf to the root, computed from the record's own hash; null if the browser can't compute hashes.
 * @throws Error if the proof has more or fewer hashes than a tree of that size
 */
export async function walk(proof: {
  record_hash: string
  index: number
  size: number
  hashes: string[]
}): Promise<Step[] | null> {
  if (crypto.subtle === undefined) return null
  let [node, last] = [proof.index, proof.size - 1]
  const steps: Step[] = [{ side: null, sibling: null, hash: await sha256(0, proof.record_hash) }]
  for (const sibling of proof.hashes) {
    if (last === 0) throw new Error(t.tooLong)
    const below = steps.at(-1)!.hash
    const left = node % 2 === 1 || node === last
    steps.push({
      side: left ? 'left' : 'right',
      sibling,
      hash: await (left ? sha256(1, sibling, below) : sha256(1, below, sibling)),
    })
    if (left)
      while (node % 2 === 0 && node !== 0) {
        node = Math.floor(node / 2)
        last = Math.floor(last / 2)
      }
    node = Math.floor(node / 2)
    last = Math.floor(last / 2)
  }
  if (last !== 0) throw new Error(t.tooShort)
  return steps
}

/** Canonical JSON of a JSON value. @see RFC 8785 */
export function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`
  if (value === null || typeof value !== 'object') return JSON.stringify(value)
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return `{${members.map(([name, one]) => `${JSON.stringify(name)}:${canonical(one)}`).join(',')}}`
}

/** Result of checking a receipt in the browser. */
export type Checked =
  /** The content is committed to, and the path leads to the root of the checkpoint. */
  | { state: 'proved'; size: number }
  /** The content was erased; only the existence of the act is proved. */
  | { state: 'erased'; size: number }
  | { state: 'wrong'; reason: string }
  /** Browsers compute hashes only over TLS or on localhost. */
  | { state: 'unchecked' }

/** Checks the receipt of an act: content, salt, commitment, path and root; `signaturesOf` checks the signature of its checkpoint. */
export async function checkReceipt(receipt: {
  payload: Record<string, unknown> | null
  salt: string | null
  commitment: string
  proof: string
}): Promise<Checked> {
  if (crypto.subtle === undefined) return { state: 'unchecked' }
  const { payload, salt, commitment, proof } = receipt
  if (payload !== null && salt !== null) {
    const text = new TextEncoder().encode(canonical(payload))
    if ((await sha256(new TextEncoder().encode('cstp/record/v2'), salt, text)) !== commitment)
      return { state: 'wrong', reason: t.contentChanged }
  }
  const [head = '', checkpoint = ''] = proof.split('\n\n', 2)
  const lines = head.split('\n')
  const index = Number(lines.find((line) => line.startsWith('index '))?.slice('index '.length))
  const hashes = lines.slice(lines.findIndex((line) => line.startsWith('index ')) + 1).map(hexOfBase64)
  const [, size, root] = checkpoint.split('\n')
  const steps = await walk({ record_hash: commitment, index, size: Number(size), hashes }).catch(
    (error: Error) => error,
  )
  if (steps === null || steps instanceof Error || steps.at(-1)?.hash !== hexOfBase64(root ?? ''))
    return { state: 'wrong', reason: t.wrongRoot }
  return { state: payload === null ? 'erased' : 'proved', size: Number(size) }
}

const bytesOfBase64 = (text: string) => Uint8Array.from(atob(text), (character) => character.charCodeAt(0))
const hexOfBase64 = (text: string): string => hexOf(bytesOfBase64(text))

/** The public key of a log. @see C2SP signed-note */
export interface LogKey {
  name: string
  /** Lowercase hex. */
  id: string
  /** The type of the key, 1 for Ed25519, and its 32 bytes. */
  bytes: Uint8Array<ArrayBuffer>
}

/** Reads `name+hash+base64`. @throws Error with a sentence for the person */
export async function readLogKey(text: string): Promise<LogKey> {
  const [name = '', id = '', ...rest] = text.trim().split('+')
  const encoded = rest.join('+')
  const bytes = /^[A-Za-z0-9+/]{44}$/.test(encoded) ? bytesOfBase64(encoded) : new Uint8Array()
  const hash = await sha256(new TextEncoder().encode(`${name}\n`), bytes)
  if (bytes.length !== 33 || bytes[0] !== 1 || hash.slice(0, 8) !== id) throw new Error(t.invalidKey)
  return { name, id, bytes }
}

/** Whether the key signed a note. @throws DOMException if the browser does not know Ed25519 */
async function isSigned(note: string, { name, id, bytes }: LogKey): Promise<boolean> {
  const end = note.lastIndexOf('\n\n')
  const key = await crypto.subtle.importKey('raw', bytes.subarray(1), 'Ed25519', false, ['verify'])
  const text = new TextEncoder().encode(note.slice(0, end + 1))
  for (const line of note.slice(end + 2).split('\n')) {
    const [dash, by, encoded = ''] = line.split(' ')
    if (dash !== '—' || by !== name) continue
    const signature = bytesOfBase64(encoded)
    if (hexOf(signature.subarray(0, 4)) === id) return crypto.subtle.verify('Ed25519', key, signature.subarray(4), text)
  }
  return false
}

/**
 * For each receipt of a dossier, whether the log signed its checkpoint: with the key that the dossier names, and the given key signed the
 * whole dossier. @throws DOMException if the browser does not know Ed25519
 */
export async function signaturesOf(
  { signature, ...rest }: { signature: string; thread_key: string; receipts: { proof: string }[] },
  key: LogKey,
): Promise<boolean[]> {
  const digest = await sha256(new TextEncoder().encode(canonical(rest)))
  const isOfThis = /^cstp dossier\nsha256:(\w+)\n\n/.exec(signature)?.[1] === digest
  const isWhole = isOfThis && (await isSigned(signature, key))
  const log = await readLogKey(rest.thread_key)
  return Promise.all(
    rest.receipts.map(
      async ({ proof }) =>
        isWhole && log.name === `${key.name}/thread` && isSigned(proof.slice(proof.indexOf('\n\n') + 2), log),
    ),
  )
}
