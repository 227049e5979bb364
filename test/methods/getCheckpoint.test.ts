/** cstp.getCheckpoint: what a checkpoint says and how long it stays; a log that was changed signs nothing. */
import { describe, expect, test } from 'bun:test'
import { openMemoryEvidence } from '../../docs/examples/driver/evidence.ts'
import type { Evidence } from '../../sdk/storage/evidence.ts'
import { createCheckpoints, parseCheckpoint } from '../../src/domain/ledger/engine/checkpoints.ts'
import { openNote, parseVerifier } from '../../src/domain/ledger/engine/note.ts'
import { verifyConsistency, verifyInclusion } from '../../src/domain/ledger/engine/proof.ts'
import { rootOf } from '../../src/domain/ledger/engine/tree.ts'
import { append } from '../support/evidence/log.ts'
import { forEachBackend, openMemoryProgram, type TestProgram, testSigner } from '../support/program.ts'

const verifier = parseVerifier(testSigner.verifier_key)
const now = () => 1_780_000_000_000

/** A program whose evidence a test changes behind its back. */
async function tampered(change: (evidence: Evidence) => Partial<Evidence>): Promise<TestProgram> {
  const program = await openMemoryProgram()
  const { evidence } = program.services
  await append(evidence, 200)
  await program.call('getCheckpoint')
  Object.assign(evidence, change({ ...evidence }))
  return program
}

forEachBackend((open) => {
  test('a checkpoint says what the log is, is kept, and stays the same until the log grows', async () => {
    const { call, services, second, clock } = await open()
    const { head } = await append(services.evidence, 70)
    const first = await call('getCheckpoint')
    expect(first).toMatchObject({ size: 70, head_hash: head.hash, root_hash: rootOf(head.frontier) })
    expect(parseCheckpoint(openNote(first.note, [verifier]).text)).toEqual({
      origin: 'cstp.test/log',
      size: 70,
      root_hash: first.root_hash,
    })
    clock.now += 60_000
    expect(await call('getCheckpoint')).toEqual(first)
    // Another server on the same log, and one that was restarted, keep no second one.
    expect((await (await second()).call('getCheckpoint')).note).toBe(first.note)
    expect(await services.evidence.checkpoints()).toEqual([
      { size: 70, head_hash: head.hash, note: first.note, created_at: first.created_at, exported: false },
    ])
    await append(services.evidence, 1)
    const [grown, same] = await Promise.all([call('getCheckpoint'), call('getCheckpoint')])
    expect(grown).toEqual(same)
    expect(grown.size).toBe(71)
    expect((await services.evidence.checkpoints()).map(({ size }) => size)).toEqual([70, 71])
  })

  test('a look at the log is shared for as long as the caller allows', async () => {
    const { call, services, clock } = await open()
    await append(services.evidence, 3)
    expect((await call('getCheckpoint', { max_age_seconds: 5 })).size).toBe(3)
    await append(services.evidence, 1)
    clock.now += 5_000
    expect((await call('getCheckpoint', { max_age_seconds: 5 })).size).toBe(3)
    clock.now += 1
    expect((await call('getCheckpoint', { max_age_seconds: 5 })).size).toBe(4)
  })

  test('proofs hold while records are appended', async () => {
    const { call, services } = await open()
    await append(services.evidence, 5)
    let appending = true
    const writers = Promise.all(
      Array.from({ length: 40 }, async (_, index) => {
        await append(services.evidence, 1 + (index % 13), `w${index}`)
        await Bun.sleep(1)
      }),
    ).finally(() => {
      appending = false
    })
    let before = await call('getCheckpoint')
    while (appending) {
      const after = await call('getCheckpoint')
      const { hashes } = await call('getConsistencyProof', { old: before.size, new: after.size })
      const roots = { old_root: before.root_hash, new_root: after.root_hash }
      expect(verifyConsistency({ old_size: before.size, new_size: after.size, ...roots, hashes })).toBe(true)
      expect(verifyInclusion(await call('getInclusionProof', { seq: 1 + (after.size >> 1) }))).toBe(true)
      before = after
      // The memory store never waits; without this the writers would not get their turn.
      await Bun.sleep(0)
    }
    await writers
  })
})

describe('a log that was changed signs nothing and proves nothing', () => {
  /** What every call ends with that would have vouched for the log. */
  const refusals = async (program: TestProgram, calls: [Parameters<TestProgram['refused']>[0], object][]) => {
    for (const [method, params] of calls) {
      const error = await program.refused(method, params)
      expect(error.error).toBe('internal_error')
      expect(error.data).toMatchObject({ kind: 'corrupt' })
    }
    await program.close()
  }

  test('cut off', async () => {
    const short = openMemoryEvidence()
    await append(short, 150)
    const program = await tampered(() => ({ head: short.head }))
    await refusals(program, [['getCheckpoint', {}]])
  })

  test('rewritten, as long as before or longer, with another last record', async () => {
    for (const count of [200, 250]) {
      const other = openMemoryEvidence()
      await append(other, count, 'forged')
      const { head, hashes, nodes } = other
      const program = await tampered(() => ({ head, hashes, nodes }))
      await refusals(program, [
        ['getCheckpoint', {}],
        ['getInclusionProof', { seq: 1 }],
      ])
    }
  })

  test('a record changed under a tree that was left', async () => {
    const program = await tampered(({ hashes }) => ({
      hashes: async (seq, limit) =>
        (await hashes(seq, limit)).map((hash, at) => (seq + at === 10 ? hash.replace(/./g, 'a') : hash)),
    }))
    await refusals(program, [
      ['getInclusionProof', { seq: 10 }],
      ['getInclusionProof', { seq: 12, size: 180 }],
    ])
  })

  test('a node changed over records that were left', async () => {
    const program = await tampered(({ nodes }) => ({
      nodes: async (level, index, limit) =>
        (await nodes(level, index, limit)).map((hash, at) => (index + at === 0 ? hash.replace(/./g, 'b') : hash)),
    }))
    await append(program.services.evidence, 1)
    await refusals(program, [
      ['getCheckpoint', {}],
      ['getInclusionProof', { seq: 130 }],
      ['getInclusionProof', { seq: 3, size: 180 }],
      ['getConsistencyProof', { old: 10, new: 190 }],
      ['getConsistencyProof', { old: 40, new: 190 }],
      ['getConsistencyProof', { old: 40 }],
    ])
  })

  test('a server that starts on it knows it by the checkpoints in the store', async () => {
    const evidence = openMemoryEvidence()
    await append(evidence, 90)
    await createCheckpoints({ evidence, signer: testSigner, now }).latest()
    const kept = await evidence.checkpoints()
    const forged = openMemoryEvidence()
    await append(forged, 120, 'forged')
    const checkpoints = async () => kept
    const latest = () => createCheckpoints({ evidence: { ...forged, checkpoints }, signer: testSigner, now }).latest()
    await expect(latest()).rejects.toThrow('its first 90 records are not those that it had')
    const unreadable = { ...evidence, checkpoints: async () => kept.map((one) => ({ ...one, note: 'gone' })) }
    await expect(createCheckpoints({ evidence: unreadable, signer: testSigner, now }).latest()).rejects.toThrow(
      "can't be read",
    )
  })

  test('each of what it remembers must fit: the last record, the root, and the tree even where it remembers nothing', async () => {
    const evidence = openMemoryEvidence()
    await append(evidence, 90)
    const { note } = await createCheckpoints({ evidence, signer: testSigner, now }).latest()
    const [kept] = await evidence.checkpoints()
    await append(evidence, 1)
    const refusedWith = (changed: Partial<Evidence>) =>
      createCheckpoints({ evidence: { ...evidence, ...changed }, signer: testSigner, now })
        .latest()
        .then(
          () => 'signed',
          (error: Error) => error.message,
        )
    // What would be kept beside the note must be true as well.
    const forgedHead = async () => ({ ...(await evidence.head()), hash: 'c'.repeat(64) })
    expect(await refusedWith({ head: forgedHead })).toContain('its head does not name the hash of record 91')
    const otherHead = { ...kept!, head_hash: 'a'.repeat(64) }
    expect(await refusedWith({ checkpoints: async () => [otherHead] })).toContain('its first 90 records')
    const otherRoot = {
      ...kept!,
      note: testSigner.sign(`${note.split('\n\n')[0]!.replace(/[^\n]+$/, `${'A'.repeat(43)}=`)}\n`),
    }
    expect(await refusedWith({ checkpoints: async () => [otherRoot] })).toContain('its first 90 records')
    const nodes = async (_: number, __: number, limit: number) => Array.from({ length: limit }, () => 'b'.repeat(64))
    expect(await refusedWith({ checkpoints: async () => [], nodes })).toContain('its tree does not match')
    expect(await refusedWith({})).toBe('signed')
  })

  test('a store that was briefly unavailable is asked again', async () => {
    const evidence = openMemoryEvidence()
    await append(evidence, 3)
    let away = true
    const checkpoints = async () => {
      if (away) throw new Error('away')
      return evidence.checkpoints()
    }
    const service = createCheckpoints({ evidence: { ...evidence, checkpoints }, signer: testSigner, now })
    await expect(service.latest()).rejects.toThrow('away')
    away = false
    expect((await service.latest()).size).toBe(3)
  })
})
