/** What the command line makes of a server's proofs: they hold for what was asked, and for nothing else. */
import { beforeAll, expect, test } from 'bun:test'
import type { Evidence } from '../../sdk/storage/evidence.ts'
import { checkpointText } from '../../src/domain/ledger/engine/checkpoints.ts'
import { logTree } from '../../src/domain/ledger/engine/proof.ts'
import { checkpointHolds, consistencyHolds, inclusionHolds } from '../../src/transparency/check.ts'
import { history, newSigner } from '../support/evidence/log-server.ts'

const signer = newSigner()
const stranger = newSigner()
let evidence: Evidence
let proof: Parameters<typeof inclusionHolds>[0]
const size = 20

beforeAll(async () => {
  evidence = await history(size)
  const tree = logTree(evidence)
  const root_hash = await tree.root(size)
  const [record_hash = ''] = await evidence.hashes(7, 1)
  const checkpoint = signer.sign(checkpointText({ origin: signer.name, size, root_hash }))
  proof = { seq: 7, size, record_hash, root_hash, hashes: await tree.inclusion(6, size), checkpoint }
})

test('a proof of another record or size is no answer, though it holds', () => {
  const { verifier_key } = signer
  expect(inclusionHolds(proof, verifier_key, { seq: 7, size: undefined })).toBe(true)
  expect(inclusionHolds(proof, verifier_key, { seq: 7, size })).toBe(true)
  expect(inclusionHolds(proof, verifier_key, { seq: 8, size: undefined })).toBe(false)
  expect(inclusionHolds(proof, verifier_key, { seq: 7, size: 21 })).toBe(false)
  expect(inclusionHolds(proof, stranger.verifier_key, { seq: 7, size })).toBe(false)
})

test('so it is with the sizes of a consistency proof', async () => {
  const tree = logTree(evidence)
  const [old_root, new_root] = [await tree.root(8), await tree.root(size)]
  const found = { old: 8, new: size, old_root, new_root, hashes: await tree.consistency(8, size) }
  expect(consistencyHolds(found, { old: 8, new: undefined })).toBe(true)
  expect(consistencyHolds(found, { old: 8, new: size })).toBe(true)
  expect(consistencyHolds(found, { old: 12, new: undefined })).toBe(false)
  expect(consistencyHolds(found, { old: 8, new: 19 })).toBe(false)
})

test('a checkpoint that the key did not sign is none, nor is a text for the terminal', () => {
  const { checkpoint } = proof
  expect(checkpointHolds(checkpoint!, signer.verifier_key)).toBe(true)
  expect(checkpointHolds(checkpoint!, stranger.verifier_key)).toBe(false)
  expect(checkpointHolds(`\x1b[2J${checkpoint}`, signer.verifier_key)).toBe(false)
  expect(checkpointHolds(checkpoint!, '\x1b[2J')).toBe(false)
})
