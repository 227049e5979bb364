/** cstp.getVerification: how far the walk over the chain is, and what the latest one found, on every store. */
import { expect, test } from 'bun:test'
import { StorageError } from '../../sdk/storage/errors.ts'
import type { Evidence } from '../../sdk/storage/evidence.ts'
import { event, ingest, ts } from '../support/evidence/ingest.ts'
import { append } from '../support/evidence/log.ts'
import { forEachBackend } from '../support/program.ts'

const idle = { running: false, records: null, total: null, started_at: null }

/** Has a walk do this before it reads from a record. */
function before(evidence: Evidence, work: (seq: number) => Promise<void>): void {
  const { read, hashed } = evidence
  evidence.read = async (from, limit) => {
    await work(from)
    return read(from, limit)
  }
  if (hashed === undefined) return
  evidence.hashed = async (from, limit) => {
    await work(from)
    return hashed(from, limit)
  }
}

forEachBackend((open) => {
  test('tells how far the walk is, then what it found', async () => {
    const program = await open()
    const { call, clock, services } = program
    const { evidence } = services
    expect(await call('getVerification')).toEqual({ ...idle, latest: null })
    await append(evidence, 5_000)
    const [reached, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    // The walk stops where its second piece begins.
    before(evidence, async (seq) => {
      if (seq <= 4_096) return
      reached.resolve()
      await released.promise
    })
    const verified = call('verifyEvidenceChain')
    await reached.promise
    const started_at = new Date(clock.now).toISOString()
    clock.now += 1_500
    const half = { running: true, records: 4_096, total: 5_000, started_at, latest: null }
    expect(await call('getVerification', {}, 'reader')).toEqual(half)
    released.resolve()
    await verified
    const latest = { intact: true, broken_at_seq: null, reason: null, records: 5_000, started_at }
    const finished_at = new Date(clock.now).toISOString()
    expect(await call('getVerification')).toEqual({ ...idle, latest: { ...latest, finished_at } })
    expect((await program.refused('getVerification', { records: 1 })).code).toBe(-32602)
  })

  test('a walk that fails is not under way for ever, and what was found before stays', async () => {
    const program = await open()
    const { evidence } = program.services
    await ingest(program, event())
    const found = await program.call('getVerification')
    before(evidence, async () => {
      throw new StorageError('unavailable', 'the disk is unavailable')
    })
    await program.refused('verifyEvidenceChain')
    expect(await program.call('getVerification')).toEqual(found)
  })

  test('damage that was found is reported', async () => {
    const program = await open()
    await ingest(program, event())
    await program.services.evidence.saveCheckpoint({
      size: 1,
      head_hash: 'a'.repeat(64),
      note: '',
      created_at: ts,
      exported: false,
    })
    const { reason } = await program.call('verifyEvidenceChain')
    expect((await program.call('getVerification')).latest).toMatchObject({
      intact: false,
      broken_at_seq: null,
      reason,
    })
  })
})
