/** Receipts for tests, written after the C2SP specifications and apart from the program's own writer. */
import { createHash } from 'node:crypto'
import { canonical } from '../../../src/core/canonical.ts'
import { naiveTree, recordHashes } from './naive-tree.ts'
import { logSigner, witness } from './note-signers.ts'

export interface MadeReceipt {
  record_id: string
  kind: string
  index: number
  payload: Record<string, unknown> | null
  payload_json: string | null
  salt: string | null
  commitment?: string
  proof: string
}

const sha256 = (...parts: Uint8Array[]): string => {
  const hash = createHash('sha256')
  for (const part of parts) hash.update(part)
  return hash.digest('hex')
}
const base64 = (hash: string): string => Buffer.from(hash, 'hex').toString('base64')

/** A log with an act among other entries, and what its log and two witnesses signed. @param redacts the last act erased the one at this place */
export function madeLog(size = 300, places: readonly number[] = [0, 41, 255, 299], redacts: number | null = null) {
  const log = logSigner('log.example/thread')
  const witnesses = [witness('witness.example/a', 'a'), witness('witness.example/b', 'b')] as const
  const entries = recordHashes(size)
  const acts = places.map((index) => {
    const erased = { record_id: `act-${redacts}@1`, kind: 'decision', commitment: entries[redacts ?? 0] }
    const isRedaction = redacts !== null && index === places.at(-1)
    const payload = {
      kind: isRedaction ? 'redaction' : 'decision',
      ...(isRedaction && { erased: [erased] }),
      record_id: `act-${index}@1`,
      at: '2026-03-03T10:00:00Z',
      agent: 'planner',
      // What is written differently by those who don't follow RFC 8785.
      record: {
        confidence: 0.00005,
        text: 'é \u2028 <b> "\u0007\b" \u{1f600}',
        '10': 1,
        '9': [true, null, -0.5, 1.5e-7],
      },
    }
    const salt = sha256(Buffer.from(`salt ${index}`))
    const payload_json = canonical(payload)
    const commitment = sha256(Buffer.from('cstp/record/v2'), Buffer.from(salt, 'hex'), Buffer.from(payload_json))
    entries[index] = commitment
    return { record_id: payload.record_id, kind: payload.kind, index, payload, payload_json, salt, commitment }
  })
  const tree = naiveTree(entries)
  const note = witnesses.reduce(
    (signed, one, at) => one.cosign(signed, 1_790_000_000 + at),
    log.note(size, tree.root(size)),
  )
  const proofOf = (index: number, checkpoint = note): string =>
    `c2sp.org/tlog-proof@v1\nindex ${index}\n${tree
      .inclusion(index, size)
      .map((hash) => `${base64(hash)}\n`)
      .join('')}\n${checkpoint}`
  const receipts: MadeReceipt[] = acts.map((act) => ({ ...act, proof: proofOf(act.index) }))
  const policy = [
    `log ${log.verifier_key}`,
    `witness a ${witnesses[0].verifier_key}`,
    `witness b ${witnesses[1].verifier_key}`,
    'group both all a b',
    'quorum both',
    '',
  ].join('\n')
  return { log, witnesses, entries, tree, note, proofOf, receipts, policy, size }
}
