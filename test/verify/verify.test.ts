/** The offline verifier: the corpus of damaged bundles, keys, witnesses, older bundles, and any byte at all. */
import { describe, expect, test } from 'bun:test'
import { createHash } from 'node:crypto'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import * as v from 'valibot'
import { BundleFile } from '../../sdk/schema/bundle.ts'
import { contentDigest } from '../../src/domain/ledger/evidence/content.ts'
import { compileControls } from '../../src/domain/ledger/evidence/controls.ts'
import { type BundleWanted, verifyBundle } from '../../src/verify/bundle.ts'
import { readKey, readNote } from '../../src/verify/note.ts'
import { canonicalText } from '../../src/verify/read.ts'
import { bundleOf } from '../support/evidence/bundles.ts'
import { event, link, story } from '../support/evidence/events.ts'
import { logSigner, witness } from '../support/evidence/note-signers.ts'
import { bareEnv, cstp, run, temporaryDir } from '../support/process.ts'
import * as fc from '../support/property.ts'
import { cases, decision, events, exampleControls, good, log, resign } from './damage.ts'

/** The bytes in chunks of a size, as a file would give them. */
async function* chunks(given: string | Uint8Array, size = 65_536) {
  const bytes = Buffer.from(given)
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}
const nothing: BundleWanted = { key: null, witness: null, older: null }
const verify = (bundle: string | Uint8Array, wanted: Partial<BundleWanted> = {}, size?: number) =>
  verifyBundle(chunks(bundle, size), { ...nothing, ...wanted })

describe.each(cases)('$name', ({ bytes, what, finds, seq, says }) => {
  test(what, async () => {
    const { verified, findings, checks } = await verify(bytes)
    expect(verified).toBe(finds === null)
    if (finds === null) return
    expect(checks.find(({ check }) => check === finds)?.result).toBe('failed')
    const found = findings.filter(({ check }) => check === finds)
    if (seq !== undefined) expect(found[0]!.seq).toBe(seq)
    if (says !== undefined) expect(found.map(({ message }) => message).join('\n')).toContain(says)
  })
})

test('what is made is the same today as when it was published', () => {
  const digest = createHash('sha256')
  for (const { bytes } of cases) digest.update(bytes)
  expect(digest.digest('hex')).toBe('8f04113e0ab1e2517c6d7883c59035e71a0c05f7b8f6b682eda15068be73f3bc')
})

test('what is made is of the published schema', () => {
  expect(v.safeParse(BundleFile, JSON.parse(good)).issues ?? []).toEqual([])
  expect(Object.keys(BundleFile.entries)).toEqual(Object.keys(JSON.parse(good)))
})

test('the report does not depend on how the file is split into chunks', async () => {
  const escaped = await bundleOf([event('ci_completed', { title: 'a " } "quoted\\" \\', pr_number: 1 }), ...events])
  for (const bundle of [good, escaped, `${good.slice(0, -9)}?`, `${escaped} `]) {
    const whole = await verify(bundle)
    expect([whole.verified, whole.bundle.events > 0]).toEqual([bundle === good || bundle === escaped, true])
    for (const size of [1, 7, 1_000]) expect(await verify(bundle, {}, size)).toEqual(whole)
  }
})

test('a change of any byte is found', async () => {
  await fc.assert(
    fc.asyncProperty(fc.nat(Buffer.byteLength(good) - 1), fc.integer({ min: 1, max: 255 }), async (at, by) => {
      const bytes = Buffer.from(good)
      bytes[at]! ^= by
      expect((await verify(bytes)).verified).toBe(false)
    }),
    { numRuns: 400 },
  )
})

test('a value without a canonical text is reported at any depth', async () => {
  const untold = { toString: null }
  type Place = (bundle: ReturnType<typeof JSON.parse>) => [at: object, name: string]
  const places: Place[] = [
    ...Object.keys(JSON.parse(good)).map(
      (name): Place =>
        (b) => [b, name],
    ),
    ...['framework', 'version', 'digest'].map(
      (name): Place =>
        (b) => [b.control_rules[0], name],
    ),
    ...['field', 'equals'].map(
      (name): Place =>
        (b) => [b.control_rules[0].rules[0].match.conditions[0], name],
    ),
    ...['note', 'verifier_key'].map(
      (name): Place =>
        (b) => [b.checkpoint, name],
    ),
    ...['hash', 'prev_hash', 'seq', 'ts', 'payload'].map(
      (name): Place =>
        (b) => [b.events[0], name],
    ),
    ...['id', 'sha256'].map(
      (name): Place =>
        (b) => [b.decisions[0], name],
    ),
  ]
  for (const place of places) {
    const bundle = JSON.parse(good)
    const [at, name] = place(bundle)
    expect(at).toHaveProperty(name)
    Object.assign(at, { [name]: untold })
    for (const signer of [null, log]) {
      if (signer && name !== 'signature') resign(bundle, signer)
      expect((await verify(canonicalText(bundle))).verified, name).toBe(false)
    }
  }
})

test('no member can be rewritten without the key of the log', async () => {
  const key = readKey(log.verifier_key)
  const forger = logSigner('log.example/1', 'forger')
  const names = Object.keys(JSON.parse(good))
  const plain = fc.oneof(fc.string(), fc.integer(), fc.boolean(), fc.constant(null))
  const value = fc.oneof(plain, fc.array(plain), fc.dictionary(fc.string(), plain))
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...names), value, fc.boolean(), async (name, made, forged) => {
      const bundle = JSON.parse(good)
      if (Bun.deepEquals(bundle[name], made)) return
      bundle[name] = made
      if (forged) resign(bundle, forger)
      const text = canonicalText(bundle)
      expect((await verify(text, { key })).verified).toBe(false)
      if (!forged) expect((await verify(text)).verified).toBe(false)
    }),
    { numRuns: 300 },
  )
})

describe('the rules', () => {
  const resultOf = ({ checks }: Awaited<ReturnType<typeof verify>>, name: string) =>
    checks.find(({ check }) => check === name)?.result
  test('that are shipped are known', async () => {
    const report = await verify(await bundleOf(events))
    expect([report.verified, resultOf(report, 'rules')]).toEqual([true, 'passed'])
    expect(report.proved.join()).toContain('published')
  })
  test('that are others are not proved, until they are given', async () => {
    const report = await verify(good)
    expect([report.verified, resultOf(report, 'rules')]).toEqual([true, 'unproved'])
    expect(report.open.join()).toContain('Give their file with --rules')
    const { digest } = exampleControls.sets[0]!
    expect(resultOf(await verify(good, { rules: [digest] }), 'rules')).toBe('passed')
  })
})

test('bundles of the shipped rules verify for any events', async () => {
  const payload = fc.dictionary(
    fc.oneof(fc.constantFrom('actor_is_human', 'human_approval_count', 'pr_number', 'conclusion'), fc.string()),
    fc.oneof(
      fc.boolean(),
      fc.integer(),
      fc.double({ noNaN: true, noDefaultInfinity: true, max: 1e9, min: -1e9 }),
      fc.string(),
      fc.constant(null),
    ),
  )
  const type = fc.constantFrom('pr_opened', 'pr_merged', 'pr_review_approved', 'ci_completed', 'pr_closed', 'other "ü"')
  await fc.assert(
    fc.asyncProperty(fc.array(fc.tuple(type, payload), { maxLength: 20 }), async (given) => {
      const bundle = await bundleOf(given.map(([kind, body]) => event(kind, body)))
      expect((await verify(bundle)).findings).toEqual([])
    }),
    { numRuns: 60 },
  )
})

test('a type that holds the ids of rules hides no insufficiency of another event', async () => {
  const given = [
    event('pr_merged\ncm-1.no-approval\nmanage-1.1.no-approval'),
    event('pr_merged', { pr_number: 1, approval_count: 1, human_approval_count: 0 }),
  ]
  const honest = await bundleOf(given)
  expect((await verify(honest)).findings).toEqual([])
  const bundle = JSON.parse(honest)
  expect(bundle.insufficient_evidence).toHaveLength(2)
  bundle.insufficient_evidence = []
  bundle.insufficient_evidence_count = 0
  bundle.unmapped[1].event_type = given[0]!.event_type
  const { verified, findings } = await verify(canonicalText(bundle))
  expect(verified).toBe(false)
  expect(findings.map(({ message }) => message).join('\n')).toContain(
    'insufficient_evidence: what follows from event 2 is missing',
  )
})

test('rules with the same id are distinguished, since a bundle may be made to deceive', async () => {
  const { digest: _, ...example } = exampleControls.sets[0]!
  const [first, second] = example.rules
  const rules = [
    { ...second!, match: first!.match, reason: 'One.' },
    { ...second!, reason: 'Another.' },
  ]
  const digest = createHash('sha256')
    .update(canonicalText({ ...example, rules }))
    .digest('hex')
  const bundle = await bundleOf(events, { controls: compileControls([{ ...example, rules, digest }]) })
  const reasons = JSON.parse(bundle).insufficient_evidence.map(({ reason }: { reason: string }) => reason)
  expect(reasons).toEqual(['One.', 'Another.'])
  expect((await verify(bundle)).checks.find(({ check }) => check === 'conclusions')?.result).toBe('passed')
})

test('the same chain at the same time gives the same bytes', async () => {
  const given = [...story(1), ...story(2), link(decision, [1])]
  expect(await bundleOf(given)).toBe(await bundleOf(given))
  const other = await bundleOf(given, { bundle_id: '11111111-0000-4000-8000-000000000000' })
  const unsigned = (text: string) => ({ ...JSON.parse(text), signature: '' })
  expect(unsigned(other.replace('11111111', '00000000'))).toEqual(unsigned(await bundleOf(given)))
})

describe('with a key', () => {
  const forged = cases.find(({ name }) => name === 'rewritten-own-key')!.bytes
  test('that of the log', async () => {
    const { verified, checks } = await verify(good, { key: readKey(log.verifier_key) })
    expect(verified).toBe(true)
    expect(checks.find(({ check }) => check === 'key')?.result).toBe('passed')
  })
  test('a chain that was rewritten and signed with another key is found', async () => {
    expect((await verify(forged)).verified).toBe(true)
    const { verified, findings } = await verify(forged, { key: readKey(log.verifier_key) })
    expect(verified).toBe(false)
    expect(findings.length).toBeGreaterThan(0)
    for (const found of findings)
      expect(found).toMatchObject({ check: 'key', message: expect.stringContaining('did not sign') })
  })
  test('the key of another log', async () => {
    const { findings } = await verify(good, { key: readKey(logSigner('other.example').verifier_key) })
    expect(findings[0]!.message).toContain('the checkpoint is of the log log.example/1')
  })
})

describe('with a witness', () => {
  const own = witness()
  const key = readKey(own.verifier_key)
  const cosigned = (note: (text: string) => string) => bundleOf(events, { controls: exampleControls, note })
  test('that cosigned', async () => {
    const report = await verify(await cosigned((note) => own.cosign(note, 1_790_000_000)), { witness: key })
    expect(report.verified).toBe(true)
    expect(report.checks.find(({ check }) => check === 'witness')?.detail).toContain('2026-09-21T14:13:20.000Z')
  })
  test('that did not', async () => {
    expect((await verify(good, { witness: key })).findings[0]!.message).toContain('did not sign')
  })
  test('by the checkpoint that it keeps, which may be of fewer events, and of no others', async () => {
    const keeps = async (given: typeof events, of = log) => {
      const { chain_size, chain_root_hash } = JSON.parse(await bundleOf(given, { controls: exampleControls }))
      return readNote(own.cosign(of.note(chain_size, chain_root_hash), 1_790_000_000))
    }
    for (const size of [0, 1, 3, 5]) {
      const report = await verify(good, { witness: key, note: await keeps(events.slice(0, size)) })
      expect(report.findings).toEqual([])
      expect(report.bundle.witnessed).toBe(size)
      expect(report.proved.join()).toContain(size === 5 ? 'saw this state' : `the first ${size} of these`)
    }
    const told = async (note: BundleWanted['note'] & object, by = key) => {
      const { verified, findings } = await verify(good, { witness: by, note })
      expect(verified).toBe(false)
      return findings.map(({ message }) => message).join()
    }
    expect(await told(await keeps([...events, events[0]!]))).toContain('the witness saw 6 events, the bundle has 5')
    expect(await told(await keeps([events[1]!, events[0]!]))).toContain('history was rewritten')
    expect(await told(await keeps(events, logSigner('other.example')))).toContain(
      'a checkpoint of the log other.example',
    )
    expect(await told(await keeps(events), readKey(witness('other.witness', 'x').verifier_key))).toContain(
      'did not sign',
    )
  })
  test('whose signature is of another checkpoint', async () => {
    const line = own
      .cosign(log.note(5, 'a'.repeat(64)), 5)
      .split('\n')
      .at(-2)
    const bundle = await cosigned((note) => `${note}${line}\n`)
    expect((await verify(bundle, { witness: key })).findings[0]!.message).toContain('does not match')
    // Who does not ask about the witness is not bothered with it.
    expect((await verify(bundle)).verified).toBe(true)
  })
})

describe('against an older bundle', () => {
  const older = (given: typeof events) => bundleOf(given, { controls: exampleControls })
  test('of the same history', async () => {
    for (const size of [0, 1, 3, 5]) {
      const report = await verify(good, { older: chunks(await older(events.slice(0, size))) })
      expect([size, report.findings]).toEqual([size, []])
    }
  })
  test('of a longer one: the end was cut off', async () => {
    const cut = await older(events.slice(0, 3))
    const { verified, findings, checks } = await verify(cut, { older: chunks(good) })
    expect(verified).toBe(false)
    expect(findings).toMatchObject([{ check: 'older', seq: 4, message: expect.stringContaining('cut off') }])
    expect(checks.find(({ check }) => check === 'older')!.detail).toBe(
      `${events.length} events, ${events.length - 3} of them missing here`,
    )
  })
  test('of another one: the first event that differs is named', async () => {
    const other = [...events.slice(0, 2), event('pr_closed'), ...events.slice(3)]
    const { findings } = await verify(await older(other), { older: chunks(good) })
    expect(findings).toMatchObject([{ check: 'older', seq: 3, message: expect.stringContaining('rewritten') }])
  })
  test('whose decision was another one: the change is reported, unless it was linked again', async () => {
    const made = (text: string, linked: string[]) => {
      const [now, ...then] = [text, ...linked].map((one) => ({ id: decision, decision: one }))
      return bundleOf([...events.slice(0, 4), ...linked.map(() => link(decision, [1]))], {
        controls: exampleControls,
        decisions: { [decision]: now },
        links: then.map((one, at) => ({
          attested_seq: 5 + at,
          event_seqs: [1],
          content_sha256: contentDigest(one as never),
        })),
      })
    }
    const before = await made('Use a cache', ['Use a cache'])
    const rewritten = await made('Use no cache', ['Use a cache'])
    const told = async (bundle: string) => (await verify(bundle, { older: chunks(before) })).findings
    expect(await told(await made('Use a cache', ['Use a cache']))).toEqual([])
    expect(await told(rewritten)).toMatchObject([
      { check: 'links', seq: 5, message: expect.stringContaining('was changed after event 5 linked it') },
      { check: 'older', seq: 5, message: expect.stringContaining('was changed since the older bundle') },
    ])
    expect((await verify(rewritten)).open.join()).toContain('not those that the evidence was linked to')
    // The audit trail was changed too.
    expect(await told(await made('Use no cache', ['Use no cache']))).toMatchObject([
      { check: 'older', message: expect.stringContaining('linked another content') },
      { check: 'older', message: expect.stringContaining('was changed since') },
    ])
    expect(await told(await made('Use no cache', ['Use a cache', 'Use no cache']))).toEqual([])
  })
  test('that another key signed', async () => {
    const forger = logSigner('log.example/1', 'forger')
    const other = await bundleOf(events, { controls: exampleControls, log: forger })
    const { findings } = await verify(other, { older: chunks(await older(events.slice(0, 3))) })
    expect(findings).toMatchObject([{ check: 'older', message: expect.stringContaining('signed with another key') }])
  })
  test('that is damaged itself', async () => {
    const { findings } = await verify(good, { older: chunks(cases.find(({ name }) => name === 'payload')!.bytes) })
    expect(findings[0]!.message).toContain('the older bundle itself is damaged')
  })
})

test('a file of a million open brackets, or of one endless text, is refused', async () => {
  for (const text of [
    `{"a":${'['.repeat(1_000_000)}`,
    `{"events":[${'{"a":'.repeat(50_000)}1${'}'.repeat(50_000)}]}`,
    `{"${'a'.repeat(3_000_000)}`,
  ])
    expect((await verify(text)).verified).toBe(false)
})

// Scanning the text again with every piece would take quadratic time.
test('a long text that comes in many pieces is scanned once', async () => {
  const { findings } = await verify(`{"bundle_id":"${'\\"'.repeat(1_000_000)}"`, {}, 1_024)
  expect(findings.map(({ message }) => message).join()).toContain('the file ends here')
})

test('the error for a mistyped key names the expected form', () => {
  const { verifier_key } = log
  for (const wrong of [
    '',
    'x',
    verifier_key.slice(0, -4),
    verifier_key.replace('+', '+0'),
    verifier_key.replace('log', 'lag'),
  ])
    expect(() => readKey(wrong)).toThrow(/expected|mistyped/)
  expect(readKey(`${verifier_key}\n`).name).toBe('log.example/1')
})

test('a pipe, a device and a value of 300 MB are refused with a sentence', async () => {
  const dir = await temporaryDir('cstp-no-files-')
  const pipe = join(dir, 'pipe')
  expect((await run(['mkfifo', pipe], { cwd: dir, env: { PATH: process.env.PATH! } })).status).toBe(0)
  for (const path of [pipe, '/dev/zero']) {
    const { status, err } = await cstp(['verify', path, '--key', path], bareEnv(dir))
    expect([status, err]).toEqual([2, `cstp: ${path} is neither a file nor a folder\n`])
  }
  async function* long(before: string) {
    yield Buffer.from(before)
    const piece = Buffer.alloc(65_536, 'a')
    for (let sent = 0; sent < 300 * 1_048_576; sent += piece.length) yield piece
    yield Buffer.from('"}')
  }
  const { findings } = await verifyBundle(long('{"bundle_format":"'), { key: null, witness: null, older: null })
  expect(findings[0]).toMatchObject({
    check: 'form',
    message: expect.stringMatching(/expected a value of at most \d+ bytes/),
  })
  const text = Buffer.concat([Buffer.from('{"receipts":["'), Buffer.alloc(80 * 1_048_576, 'a'), Buffer.from('"]}')])
  await Bun.write(join(dir, 'long.json'), text)
  const { status, err } = await cstp(['verify', join(dir, 'long.json'), '--key', 'x'], bareEnv(dir))
  expect([status, err]).toEqual([2, expect.stringContaining('is too long: expected a receipts file')])
  await rm(dir, { recursive: true })
})
