/** The engine verifies both ledgers alike: whatever is changed beside the entries is found in the evidence log and in the thread. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { Evidence } from '../../../../sdk/storage/evidence.ts'
import type { LedgerReader } from '../../../../sdk/storage/ledger.ts'
import { createCheckpoints } from '../../../../src/domain/ledger/engine/checkpoints.ts'
import {
  proveConsistency,
  proveInclusion,
  verifyConsistency,
  verifyInclusion,
} from '../../../../src/domain/ledger/engine/proof.ts'
import { type PieceReader, walkLog } from '../../../../src/domain/ledger/engine/walk.ts'
import { evidenceEntries } from '../../../../src/domain/ledger/evidence/chain.ts'
import { threadEntries } from '../../../../src/domain/ledger/thread/examine/examine.ts'
import { appendActs } from '../../../support/evidence/acts.ts'
import { append } from '../../../support/evidence/log.ts'
import { openMemoryProgram, type TestProgram, testSigner } from '../../../support/program.ts'

const size = 300
const forged = 'a'.repeat(64)

describe.each(['evidence log', 'thread'])('%s', (name) => {
  let program: TestProgram
  let log: LedgerReader
  let entries: (log: LedgerReader) => PieceReader
  beforeAll(async () => {
    program = await openMemoryProgram()
    const { evidence, store, thread } = program.services
    if (name === 'thread') {
      await appendActs(store, 1, size)
      await thread.sequence()
      log = store.thread
      entries = threadEntries
    } else {
      await append(evidence, size)
      log = evidence
      entries = (changed) => evidenceEntries({ ...evidence, ...changed } as Evidence)
    }
    await createCheckpoints({
      evidence: name === 'thread' ? store.thread : evidence,
      signer: testSigner,
      now: Date.now,
    }).latest()
  })
  afterAll(() => program.close())

  const flaw = async (changes: Partial<LedgerReader> = {}) => {
    const changed = { ...log, ...changes }
    return (
      (await walkLog({ log: changed, reader: entries(changed), yieldToEventLoop: async () => {} })).flaw?.reason ?? null
    )
  }

  test('is intact, and proves its entries and its growth', async () => {
    expect(await flaw()).toBeNull()
    const head = await log.head()
    expect(head.seq).toBe(size)
    const { index, leaf_hash, root_hash, hashes } = await proveInclusion(log, 41, size)
    expect(verifyInclusion({ index, size, leaf_hash, root_hash, hashes })).toBe(true)
    const proof = await proveConsistency(log, 100, size, head)
    expect(verifyConsistency({ ...proof, old_size: 100, new_size: size })).toBe(true)
  })

  test('a changed node of the tree is found with the entries below it', async () => {
    const nodes: LedgerReader['nodes'] = async (level, index, limit) => {
      const found = await log.nodes(level, index, limit)
      return level === 4 ? found.map((hash, at) => (index + at === 3 ? forged : hash)) : found
    }
    expect(await flaw({ nodes })).toContain('entries 49 to 64')
  })

  test('a node beyond the end is found', async () => {
    const nodes: LedgerReader['nodes'] = async (level, index, limit) =>
      level === 12 ? [forged] : log.nodes(level, index, limit)
    expect(await flaw({ nodes })).toContain('entries 1 to 4096')
  })

  test.each([
    ['another hash', { hash: forged }, 'does not name the hash'],
    ['another tree', { frontier: [forged] }, 'the tree of the head'],
    ['more entries', { seq: size + 1 }, 'cut off'],
  ])('a head with %s is found', async (_, changed, reason) => {
    expect(await flaw({ head: async () => ({ ...(await log.head()), ...changed }) })).toContain(reason)
  })

  test('an entry after the head is found', async () => {
    const head = async () => ({ ...(await log.head()), seq: size - 1 })
    expect(await flaw({ head })).toContain('behind the end')
  })

  test.each([
    ['of more entries', { size: size + 1 }, 'cut off'],
    ['of another last entry', { head_hash: forged }, 'rewritten'],
  ])('a signed checkpoint %s is found', async (_, changed, reason) => {
    const checkpoints = async () => (await log.checkpoints()).map((one) => ({ ...one, ...changed }))
    expect(await flaw({ checkpoints })).toContain(reason)
  })

  // In the evidence log, the hash of the last entry stands for all before it.
  test.skipIf(name !== 'thread').each([
    ['of another tree', `x\n${size}\n${Buffer.alloc(32).toString('base64')}\n`, 'rewritten'],
    ['that can’t be read', 'x\n', 'can’t be read'],
  ])('a signed checkpoint %s is found', async (_, text, reason) => {
    const note = testSigner.sign(text)
    const checkpoints = async () => (await log.checkpoints()).map((one) => ({ ...one, note }))
    expect(await flaw({ checkpoints })).toContain(reason)
  })
})
