/** An inclusion proof and its checkpoint as one text, for other tools. @see C2SP tlog-proof; `src/verify/receipt.ts` reads it */

/**
 * @param index of the entry, from 0
 * @param hashes lowercase hex, the sibling of the leaf first
 * @param checkpoint signed note of the tree that the proof leads to
 */
export function tlogProof({
  index,
  hashes,
  checkpoint,
}: {
  index: number
  hashes: readonly string[]
  checkpoint: string
}): string {
  const path = hashes.map((hash) => `${Buffer.from(hash, 'hex').toString('base64')}\n`).join('')
  return `c2sp.org/tlog-proof@v1\nindex ${index}\n${path}\n${checkpoint}`
}
