/** cstp.getConsistencyProof: the log only grew between two sizes, on every store. */
import { expect, test } from 'bun:test'
import { verifyConsistency } from '../../src/domain/ledger/engine/proof.ts'
import { append } from '../support/evidence/log.ts'
import { forEachBackend } from '../support/program.ts'

forEachBackend((open) => {
  test('that the log grew can be proved between any two sizes', async () => {
    const { call, services } = await open()
    await append(services.evidence, 100)
    for (const [old, size] of [
      [0, 100],
      [1, 100],
      [64, 65],
      [99, undefined],
      [100, 100],
      [0, 0],
    ] as const) {
      const proof = await call('getConsistencyProof', { old, ...(size !== undefined && { new: size }) })
      expect([proof.old, proof.new]).toEqual([old, size ?? 100])
      const { old_root, new_root, hashes } = proof
      expect(verifyConsistency({ old_size: old, new_size: proof.new, old_root, new_root, hashes })).toBe(true)
    }
  })
})
