/** Receipts and exported logs before the offline verifier: good ones, every change of them, and what a policy asks for. */
import { describe, expect, test } from 'bun:test'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { type Tile, tileBytes, tilePath, tilesOf } from '../../src/domain/ledger/engine/tiles.ts'
import { grow } from '../../src/domain/ledger/engine/tree.ts'
import { verifyLog } from '../../src/verify/log.ts'
import { readPolicy } from '../../src/verify/policy.ts'
import { leadsToRoot, readProof } from '../../src/verify/proof.ts'
import { verifyReceipts } from '../../src/verify/receipt.ts'
import { naiveTree, recordHashes } from '../support/evidence/naive-tree.ts'
import { logSigner, witness } from '../support/evidence/note-signers.ts'
import { type MadeReceipt, madeLog } from '../support/evidence/receipts.ts'
import { cstp, temporaryDir } from '../support/process.ts'
import * as fc from '../support/property.ts'

const made = madeLog()
const policy = readPolicy(made.policy)
const verify = (file: unknown, by = policy) => verifyReceipts(JSON.stringify(file), by)
const failures = (file: unknown, by = policy) => [...new Set(verify(file, by).findings.map(({ check }) => check))]
const first = made.receipts[1]!

test('a good file is valid, as a whole answer and as one receipt, and says what it proves', () => {
  const report = verify({ receipts: made.receipts, pending: false })
  expect(report.findings).toEqual([])
  expect(report.verified).toBe(true)
  expect(report.checks.map(({ result }) => result)).toEqual(['passed', 'passed', 'passed', 'passed', 'passed'])
  expect(report.receipts.map(({ index }) => index)).toEqual([0, 41, 255, 299])
  expect(report.receipts[0]!.cosigned_by.map(({ name }) => name)).toEqual(['a', 'b'])
  expect(report.proved.join(' ')).toContain('from 2026-09-21T')
  expect(verify(first).verified).toBe(true)
  expect(verify({ receipts: [first], pending: true }).open.join(' ')).toContain('no place in the log yet')
})

describe('what is refused, and by which check', () => {
  const changed = (change: Partial<Record<keyof MadeReceipt, unknown>>) => ({ ...first, ...change })
  const payload = first.payload as Record<string, unknown>
  test.each([
    ['another payload', changed({ payload: { ...payload, agent: 'somebody' } }), ['content', 'inclusion']],
    [
      '… with its commitment',
      changed({ payload: { ...payload, agent: 'x' }, payload_json: undefined, commitment: undefined }),
      ['inclusion'],
    ],
    [
      'another text of the payload',
      changed({ payload_json: first.payload_json!.replace('planner', 'x') }),
      ['content'],
    ],
    ['a text of what was erased', changed({ payload: null, salt: null }), ['content']],
    ['another salt', changed({ salt: 'a'.repeat(64) }), ['content', 'inclusion']],
    ['another place', changed({ index: 42 }), ['inclusion']],
    ['the proof of another entry', changed({ proof: made.proofOf(42) }), ['inclusion']],
    ['another record', changed({ record_id: 'another' }), ['form']],
    ['another kind', changed({ kind: 'verdict' }), ['form']],
    ['no proof', changed({ proof: undefined }), ['form']],
    ['a text as payload', changed({ payload: 'x' }), ['form']],
    ['a payload that I-JSON can not carry', changed({ payload: { ...payload, n: 2 ** 60 } }), ['form']],
    [
      'a proof with its index spelled otherwise',
      changed({ proof: first.proof.replace('index 41', 'index 041') }),
      ['form'],
    ],
    [
      'a checkpoint of another size',
      changed({ proof: first.proof.replace('\n300\n', '\n301\n') }),
      ['log', 'witnesses'],
    ],
  ] as const)('%s', (_, file, checks) => expect(failures(file).sort()).toEqual([...checks].sort()))

  test.each(['', '{}', '[]', 'null', '{"receipts":[]}', '{"receipts":[1]}', 'no json'])('%j as a file', (text) => {
    expect(verifyReceipts(text, policy)).toMatchObject({ verified: false, proved: [], receipts: [] })
  })

  test('a log that the policy does not name, and one of its name with another key', () => {
    const of = (log: ReturnType<typeof logSigner>) =>
      failures(first, readPolicy(`log ${log.verifier_key}\nquorum none\n`))
    expect(of(logSigner('log.example/other'))).toEqual(['log'])
    expect(of(logSigner('log.example/thread', 'another'))).toEqual(['log'])
    expect(of(made.log)).toEqual([])
  })

  test('fewer witnesses than the quorum, and one with a wrong cosignature', () => {
    const alone = made.witnesses[0].cosign(made.log.note(made.size, made.tree.root(made.size)), 1_790_000_000)
    const file = { ...first, proof: made.proofOf(first.index, alone) }
    expect(failures(file)).toEqual(['witnesses'])
    expect(verify(file, readPolicy(made.policy.replace(' all ', ' any '))).verified).toBe(true)
    const stranger = witness('witness.example/b', 'stranger')
    const wrong = stranger.cosign(alone, 1_790_000_001)
    expect(failures({ ...first, proof: made.proofOf(first.index, wrong) })).toEqual(['witnesses'])
  })
})

test('any character that is changed in a receipt is found, or changes nothing that is proved', () => {
  const text = JSON.stringify(first)
  const told = JSON.parse(text)
  fc.assert(
    fc.property(fc.nat(text.length - 1), fc.integer({ min: 32, max: 126 }), (at, code) => {
      const other = text.slice(0, at) + String.fromCharCode(code) + text.slice(at + 1)
      const report = verifyReceipts(other, policy)
      if (report.verified) expect(JSON.parse(other)).toMatchObject({ payload: told.payload, salt: told.salt })
    }),
    { numRuns: 400 },
  )
})

test('an erased act is still an entry, but its content is not proved; its redaction says which act it was', () => {
  const redacted = madeLog(300, [0, 41, 255, 299], 41)
  const [, before, , redaction] = redacted.receipts
  const erased = { ...before!, payload: null, payload_json: null, salt: null }
  const report = verify({ receipts: [erased, redaction], pending: false })
  expect(report.verified).toBe(true)
  expect(report.checks.find(({ check }) => check === 'content')).toMatchObject({ result: 'unproved' })
  expect(report.open.join(' ')).toContain('What 1 of the acts said')
  expect(failures(erased)).toEqual(['content'])
  const relabelled = (change: object) => failures({ receipts: [{ ...erased, ...change }, redaction] })
  expect(relabelled({ kind: 'approval' })).toEqual(['content'])
  expect(relabelled({ record_id: 'act-1@1' })).toEqual(['content'])
  expect(relabelled({ commitment: undefined })).toEqual(['form'])
  expect(relabelled({ commitment: 'b'.repeat(64) }).sort()).toEqual(['content', 'inclusion'])
  const { erased: said } = redaction!.payload as { erased: object[] }
  const forged = { ...redaction!, payload: { ...redaction!.payload, erased: [{ ...said[0], kind: 'approval' }] } }
  expect(failures({ receipts: [{ ...erased, kind: 'approval' }, forged] }).sort()).toEqual(['content', 'inclusion'])
})

test.each([
  ['a member twice', (text: string) => text.replace('"pending":', '"pending":true,"pending":')],
  ['a member twice, one of them escaped', (text: string) => text.replace('"index":', '"\\u0069ndex":7,"index":')],
  ['a member of a payload twice', (text: string) => text.replace('"agent":', '"agent":"eve","agent":')],
  ['a further member', (text: string) => text.replace('"pending":', '"note":"valid","pending":')],
  ['a further member of a receipt', (text: string) => text.replace('"index":', '"approved":true,"index":')],
  ['a number in another form', (text: string) => text.replace('"index":41', '"index":41.0')],
  ['a number of a payload in another form', (text: string) => text.replace('0.00005', '5e-5')],
])('%s is refused, though the last value is the right one', (_, change) => {
  const text = JSON.stringify({ pending: false, receipts: [first] })
  expect(verifyReceipts(text, policy).verified).toBe(true)
  expect(change(text)).not.toBe(text)
  expect(verifyReceipts(change(text), policy)).toMatchObject({ verified: false, proved: [] })
})

test('a path leads to the root for its own entry alone, in trees of every size', () => {
  const records = recordHashes(70)
  const tree = naiveTree(records)
  const log = logSigner('log.example/small')
  for (let size = 1; size <= 70; size++)
    for (let index = 0; index < size; index++) {
      const lines = tree.inclusion(index, size).map((hash) => `${Buffer.from(hash, 'hex').toString('base64')}\n`)
      const text = `c2sp.org/tlog-proof@v1\nextra AAAA\nindex ${index}\n${lines.join('')}\n${log.note(size, tree.root(size))}`
      const proof = readProof(text)
      expect(leadsToRoot(proof, records[index]!)).toBe(true)
      expect(leadsToRoot(proof, records[(index + 1) % 70]!)).toBe(false)
      expect(leadsToRoot({ ...proof, index: index ^ 1 }, records[index]!)).toBe(false)
      expect(leadsToRoot({ ...proof, path: [...proof.path, Buffer.alloc(32)] }, records[index]!)).toBe(false)
      if (size > 1) expect(leadsToRoot({ ...proof, path: proof.path.slice(1) }, records[index]!)).toBe(false)
    }
})

describe('an exported log', () => {
  const nodes = new Map(grow([], 0, made.entries).nodes.map(({ level, index, hash }) => [`${level}/${index}`, hash]))
  const source = {
    hashes: async (seq: number, limit: number) => made.entries.slice(seq - 1, seq - 1 + limit),
    nodes: async (level: number, index: number, limit: number) =>
      Array.from({ length: limit }, (_, at) => nodes.get(`${level}/${index + at}`)!),
  }
  const files = async () => {
    const found = new Map<string, Uint8Array>([['checkpoint', Buffer.from(made.note)]])
    for (const tile of tilesOf(made.size)) found.set(tilePath(tile), await tileBytes(source, tile))
    return found
  }
  const check = async (change: (found: Map<string, Uint8Array>) => void, by = policy) => {
    const found = await files()
    change(found)
    const report = await verifyLog(async (path) => found.get(path) ?? null, by)
    return { ...report, failed: [...new Set(report.findings.map(({ check }) => check))] }
  }

  test('is valid, with full files in the place of partial ones too', async () => {
    expect(await check(() => {})).toMatchObject({ verified: true, log: { size: 300, origin: 'log.example/thread' } })
    const grown: Tile = { level: 'entries', index: 1, width: 44 }
    const full = (found: Map<string, Uint8Array>) => {
      found.set('tile/entries/001', found.get(tilePath(grown))!)
      found.delete(tilePath(grown))
    }
    expect((await check(full)).verified).toBe(true)
  })

  test('is refused where any of its files was changed or is missing', async () => {
    for (const path of (await files()).keys()) {
      const without = await check((found) => void found.delete(path))
      expect([path, without.verified]).toEqual([path, false])
      const changed = await check((found) => {
        const bytes = Buffer.from(found.get(path)!)
        bytes[bytes.length - 3]! ^= 1
        found.set(path, bytes)
      })
      expect([path, changed.verified]).toEqual([path, false])
    }
  })

  test('is refused by a policy with another log or other witnesses', async () => {
    const others = `log ${made.log.verifier_key}\nwitness c ${witness('c', 'c').verifier_key}\nquorum c\n`
    expect((await check(() => {}, readPolicy(others))).failed).toEqual(['witnesses'])
    const stranger = `log ${logSigner('log.example/x').verifier_key}\nquorum none\n`
    expect((await check(() => {}, readPolicy(stranger))).failed).toEqual(['log'])
  })
})

test('the command line verifies both by a policy or a key, and asks for one', async () => {
  const dir = await temporaryDir('cstp-receipt-')
  try {
    await Bun.write(join(dir, 'receipt.json'), JSON.stringify({ receipts: made.receipts, pending: false }, null, 2))
    await Bun.write(join(dir, 'log', 'checkpoint'), made.note)
    await Bun.write(join(dir, 'policy.txt'), made.policy)
    await Bun.write(join(dir, 'bad.txt'), 'quorum nobody\n')
    const run = (...args: string[]) => cstp(['verify', ...args], { PATH: process.env.PATH ?? '', HOME: '/nonexistent' })
    const [receipt, rules, bad] = ['receipt.json', 'policy.txt', 'bad.txt'].map((name) => join(dir, name)) as [
      string,
      string,
      string,
    ]
    const good = await run(receipt, '--policy', rules)
    expect(good).toMatchObject({ status: 0, err: '' })
    expect(good.out).toContain('receipt.json is valid')
    expect(good.out).toContain('Entry 41 of log.example/thread: decision act-41@1')
    expect((await run(receipt, '--key', made.log.verifier_key, '--json')).status).toBe(0)
    const other = await run(receipt, '--key', logSigner('log.example/x').verifier_key)
    expect(other).toMatchObject({ status: 1 })
    expect(other.out).toContain('which you did not name')
    const folder = await run(join(dir, 'log'), '--policy', rules)
    expect([folder.status, folder.out.includes('bundle 000 is missing')]).toEqual([1, true])
    for (const [args, message] of [
      [[receipt], 'Give a policy with --policy'],
      [[receipt, '--policy', bad], 'line 1: nobody is not a witness or a group'],
      [[receipt, '--policy', rules, '--against', receipt], 'are for bundles'],
      [[join(dir, 'none.json'), '--policy', rules], "can't read"],
    ] as const) {
      const { status, err } = await run(...args)
      expect([status, err.replace(/\s+/g, ' ')]).toEqual([2, expect.stringContaining(message)])
    }
  } finally {
    await rm(dir, { recursive: true, force: true })
  }
})
