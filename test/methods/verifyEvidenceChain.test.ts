/** cstp.verifyEvidenceChain: the chain, its tail, and the heads that are expected, on every store. */
import { expect, test } from 'bun:test'
import { noHash } from '../../sdk/storage/evidence-checks.ts'
import { event, ingest, ts } from '../support/evidence/ingest.ts'
import { forEachBackend } from '../support/program.ts'

forEachBackend((open) => {
  test('a hash that stands anywhere in the chain passes, one that stands nowhere is a tail cut off', async () => {
    const program = await open()
    const { call } = program
    const first = await ingest(program, event())
    const last = await ingest(program, event(), event())
    const verify = (expected_head_hash: string | null) => call('verifyEvidenceChain', { expected_head_hash })
    for (const hash of [first.head_hash, last.head_hash, noHash])
      expect(await verify(hash)).toEqual({
        intact: true,
        broken_at_seq: null,
        head_hash: last.head_hash,
        expected_hash: hash,
        tail_check: true,
        reason: null,
        records: 3,
      })
    expect(await verify('f'.repeat(64))).toMatchObject({
      intact: false,
      broken_at_seq: null,
      head_hash: last.head_hash,
      expected_hash: 'f'.repeat(64),
      tail_check: true,
      reason: expect.stringContaining('cut off'),
    })
    expect(await verify(null)).toMatchObject({ intact: true, tail_check: false })
    for (const expected_head_hash of ['abc', 'F'.repeat(64), 7, `${'0'.repeat(63)}g`])
      expect((await program.refused('verifyEvidenceChain', { expected_head_hash })).code).toBe(-32602)
  })

  test('the head of the latest export is expected by default, and every other one too', async () => {
    const program = await open()
    const { evidence } = program.services
    const first = await ingest(program, event())
    const second = await ingest(program, event())
    const save = (size: number, head_hash: string) =>
      evidence.saveCheckpoint({ size, head_hash, note: '', created_at: ts, exported: true })
    await save(0, noHash)
    expect(await program.call('verifyEvidenceChain')).toMatchObject({ intact: true, expected_hash: noHash })
    await save(2, second.head_hash)
    await save(1, first.head_hash)
    await ingest(program, event())
    expect(await program.call('verifyEvidenceChain')).toMatchObject({
      intact: true,
      expected_hash: first.head_hash,
      tail_check: true,
    })
    await save(2, first.head_hash)
    await save(1, first.head_hash)
    expect(await program.call('verifyEvidenceChain')).toMatchObject({
      intact: false,
      broken_at_seq: null,
      reason: expect.stringContaining('rewritten'),
    })
    const refused = await program.refused('ingestEvidence', { source: 's', events: [event()] }, 'root')
    expect([refused.code, refused.data]).toMatchObject([-32603, { kind: 'corrupt', broken_at_seq: null }])
  })
})
