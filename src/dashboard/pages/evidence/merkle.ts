/** Recomputes an inclusion proof. @see RFC 9162, section 2.1.3.2 */

export interface Step {
  /** Where the sibling stands; null at the leaf. */
  side: 'left' | 'right' | null
  sibling: string | null
  hash: string
}

const bytesOf = (hex: string): Uint8Array =>
  Uint8Array.from(hex.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16))
const hexOf = (bytes: ArrayBuffer): string =>
  [...new Uint8Array(bytes)].map((byte) => byte.toString(16).padStart(2, '0')).join('')

async function sha256(...parts: (number | string)[]): Promise<string> {
  const bytes = parts.flatMap((part) => (typeof part === 'number' ? [part] : [...bytesOf(part)]))
  return hexOf(await crypto.subtle.digest('SHA-256', Uint8Array.from(bytes)))
}

/**
 * The hashes from the leaf to the root, computed from the record's own hash; null where the browser computes none.
 * @throws Error where the proof has more or fewer hashes than a tree of that size
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
    if (last === 0) throw new Error('The proof is longer than its tree is high.')
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
  if (last !== 0) throw new Error('The proof is shorter than its tree is high.')
  return steps
}
