/** Keys and signed checkpoints for tests, written after the C2SP specifications and apart from the program's own. */
import { createHash, createPrivateKey, createPublicKey, type KeyObject, sign } from 'node:crypto'

/** The same key from the same seed, so that what is made with it is the same in every run. */
const keyOf = (seed: string): KeyObject => {
  const bytes = createHash('sha256').update(seed).digest()
  const der = Buffer.concat([Buffer.from('302e020100300506032b657004220420', 'hex'), bytes])
  return createPrivateKey({ key: der, format: 'der', type: 'pkcs8' })
}

function named(name: string, type: number, seed: string) {
  const key = keyOf(seed)
  const raw = createPublicKey(key).export({ format: 'der', type: 'spki' }).subarray(-32)
  const typed = Buffer.concat([Uint8Array.of(type), raw])
  const id = createHash('sha256').update(`${name}\n`).update(typed).digest().subarray(0, 4)
  const line = (bytes: Uint8Array) => `— ${name} ${Buffer.concat([id, bytes]).toString('base64')}\n`
  return { key, line, text: `${name}+${id.toString('hex')}+${typed.toString('base64')}` }
}

/** Signs checkpoints as the log of that name; the seed makes its key. */
export function logSigner(name = 'log.example/1', seed = 'log') {
  const { key, line, text } = named(name, 1, seed)
  const signed = (body: string): string => `${body}\n${line(sign(null, Buffer.from(body), key))}`
  return {
    verifier_key: text,
    sign: signed,
    note: (size: number, root_hash: string): string =>
      signed(`${name}\n${size}\n${Buffer.from(root_hash, 'hex').toString('base64')}\n`),
  }
}

export function witness(name = 'witness.example', seed = 'witness') {
  const { key, line, text } = named(name, 4, seed)
  return {
    verifier_key: text,
    cosign(note: string, seconds: number): string {
      const body = note.slice(0, note.lastIndexOf('\n\n') + 1)
      const time = Buffer.alloc(8)
      time.writeBigUInt64BE(BigInt(seconds))
      return (
        note + line(Buffer.concat([time, sign(null, Buffer.from(`cosignature/v1\ntime ${seconds}\n${body}`), key)]))
      )
    },
  }
}
