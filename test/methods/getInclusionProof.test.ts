/** cstp.getInclusionProof: a record is in the log, now and in an earlier checkpoint, on every store. */
import { expect, test } from 'bun:test'
import { parseCheckpoint } from '../../src/domain/ledger/engine/checkpoints.ts'
import { openNote, parseVerifier } from '../../src/domain/ledger/engine/note.ts'
import { verifyInclusion } from '../../src/domain/ledger/engine/proof.ts'
import { leafHash } from '../../src/domain/ledger/engine/tree.ts'
import { append } from '../support/evidence/log.ts'
import { forEachBackend, testSigner } from '../support/program.ts'

const verifier = parseVerifier(testSigner.verifier_key)

forEachBackend((open) => {
  test('every record can be proved, now and in a checkpoint of earlier', async () => {
    const { call, services } = await open()
    await append(services.evidence, 130)
    const records = await services.evidence.read(1, 130)
    for (const [seq, size] of [
      [1, undefined],
      [64, undefined],
      [65, undefined],
      [130, undefined],
      [1, 1],
      [7, 64],
      [66, 99],
    ] as const) {
      const proof = await call('getInclusionProof', { seq, ...(size && { size }) })
      expect(proof).toMatchObject({ seq, index: seq - 1, size: size ?? 130, record_hash: records[seq - 1]!.hash })
      expect(proof.leaf_hash).toBe(leafHash(proof.record_hash).toString('hex'))
      expect(verifyInclusion(proof)).toBe(true)
      if (size !== undefined) expect(proof.checkpoint).toBe(null)
      else expect(parseCheckpoint(openNote(proof.checkpoint!, [verifier]).text).root_hash).toBe(proof.root_hash)
    }
  })
})
