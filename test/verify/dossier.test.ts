/** Dossiers before the offline verifier: a good one, and every value of it changed, removed or signed by somebody else. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { createHash, generateKeyPairSync } from 'node:crypto'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Dossier } from '../../sdk/schema/dossier.ts'
import { auditDigest, canonical, stableJson } from '../../src/core/canonical.ts'
import { signerOf } from '../../src/domain/ledger/engine/note.ts'
import { recordHash } from '../../src/domain/ledger/evidence/hash.ts'
import { signStatement } from '../../src/domain/ledger/evidence/statement.ts'
import { verifyDossier } from '../../src/verify/dossier.ts'
import { readKey } from '../../src/verify/note.ts'
import { decidedDossier } from '../support/evidence/dossiers.ts'
import { witness } from '../support/evidence/note-signers.ts'
import { bareEnv, cstp, temporaryDir } from '../support/process.ts'
import { testSigner } from '../support/program.ts'

const key = readKey(testSigner.verifier_key)
const verifyText = (text: string) => verifyDossier(text, { key, witness: null })
const failed = (dossier: unknown) => [
  ...new Set(verifyText(JSON.stringify(dossier)).findings.map(({ check }) => check as string)),
]
let dossier: Dossier

beforeAll(async () => {
  dossier = await decidedDossier()
})

type Path = (string | number)[]
const copy = <T>(value: T): T => structuredClone(value)
/** Paths of all values that hold no others. */
function* leaves(value: unknown, path: Path = []): Generator<Path> {
  if (value === null || typeof value !== 'object' || Object.keys(value).length === 0) yield path
  else for (const [name, inner] of Object.entries(value)) yield* leaves(inner, [...path, name])
}
const parentOf = (root: unknown, path: Path) =>
  path.slice(0, -1).reduce<Record<string, unknown>>((at, name) => at[name] as never, root as never)
const otherThan = (value: unknown): unknown => {
  if (typeof value === 'number') return value + 1
  if (typeof value === 'boolean') return !value
  if (typeof value !== 'string') return 'x'
  const last = value.at(-1) === 'a' ? 'b' : 'a'
  return `${value.slice(0, -1)}${last}`
}
const changed = (path: Path): Dossier => {
  const forged = copy(dossier)
  const parent = parentOf(forged, path)
  parent[path.at(-1)!] = otherThan(parent[path.at(-1)!])
  return forged
}
/** The check, beside that of the signature, that names the place of a change; null where only the signature covers the value. */
const isNamed = (line: number): boolean =>
  dossier.receipts.some(({ payload }) => payload?.audit_sha256 === auditDigest(dossier.trail[line]!))
function placeOf([member, place, field]: Path): string | null {
  if (member === 'receipts' || member === 'thread_key') return 'thread'
  // By the others a line is known: with another one it is a line that no act names.
  if (member === 'trail')
    return isNamed(place as number) && ['at', 'ids', 'allowed', 'rules', 'detail'].includes(field as string)
      ? 'thread'
      : null
  if (member === 'statement') return 'statement'
  if (member === 'score') return 'score'
  if (member === 'policy') return field === undefined ? 'verdict' : null
  if (member === 'evidence') return field === 'relation' ? null : 'events'
  if (member === 'revisions') return field === 'old_values' || field === 'digest' ? 'decision' : null
  return ['decision', 'decision_sha256', 'content_sha256'].includes(member as string) ? 'decision' : null
}

test('every value that is changed fails the signature, and the check of the part that it is in', () => {
  // Of lists whose entries are alike the first ones are taken whole, and a sample of the others.
  const paths = [...leaves(dossier)].filter(
    ([member, place, , inner], at) =>
      member !== 'signature' &&
      ((Number(place) < 2 && inner !== 'record') || Number.isNaN(Number(place)) || at % 13 === 0),
  )
  expect(paths.length).toBeGreaterThan(300)
  expect(dossier.trail.filter((_, at) => !isNamed(at))).toEqual([])
  for (const path of paths) {
    const checks = failed(changed(path))
    const place = placeOf(path)
    const expected = place === null ? [] : [place]
    expect([path.join('.'), path[0] === 'dossier_format' || checks.includes('signature')]).toEqual([
      path.join('.'),
      true,
    ])
    for (const check of expected)
      expect([path.join('.'), checks]).toEqual([path.join('.'), expect.arrayContaining([check])])
  }
})

test('every member that is removed or added is refused', () => {
  for (const name of Object.keys(dossier)) {
    const { [name as keyof Dossier]: _, ...rest } = dossier
    expect(failed(rest)).toEqual(['form'])
  }
  expect(failed({ ...dossier, note: 'x' })).toEqual(['form'])
})

/** Signed again by the holder of a key. */
function resigned(forged: Dossier, signer = testSigner): Dossier {
  const { signature: _, ...rest } = forged
  const sha256 = createHash('sha256').update(stableJson(rest)).digest('hex')
  return { ...rest, signature: signer.sign(`cstp dossier\nsha256:${sha256}\n`) }
}
const edited = (edit: (forged: Dossier) => void): Dossier => {
  const forged = copy(dossier)
  edit(forged)
  return resigned(forged)
}

describe('what even the holder of the key can not make consistent without further changes', () => {
  test.each([
    [
      'a verdict that the trail does not say',
      edited,
      (one: Dossier) => (one.decision.verdict!.verdict = 'deny'),
      'verdict',
    ],
    ['a rule that was in force', edited, (one: Dossier) => (one.policy!.guardrails[0]!.id = 'other'), 'verdict'],
    ['an event', edited, (one: Dossier) => (one.evidence[0]!.payload.title = 'Other'), 'events'],
    ['the number of an event', edited, (one: Dossier) => void one.evidence[0]!.seq++, 'events'],
    [
      'an event whose hash is made to fit',
      edited,
      (one: Dossier) => {
        const [event] = one.evidence
        event!.payload.title = 'Other'
        event!.hash = recordHash({ ...event!, payload: canonical(event!.payload) })
      },
      'events',
    ],
    ['an event left out', edited, (one: Dossier) => void one.evidence.pop(), 'statement'],
    ['another outcome', edited, (one: Dossier) => (one.decision.outcome = 'failure'), 'score'],
    ['a better score', edited, (one: Dossier) => (one.score!.brier = 0), 'score'],
    ['a line of the trail', edited, (one: Dossier) => (one.trail[0]!.at = '2026-07-01T00:00:00.000Z'), 'thread'],
    [
      'a record whose digests and statement are made to fit',
      edited,
      (one: Dossier) => {
        one.decision.lessons = 'None'
        one.decision_sha256 = createHash('sha256').update(stableJson(one.decision)).digest('hex')
        one.statement = {
          ...signStatement(testSigner, { record: one.decision, approvals: one.approvals, evidence: one.evidence }),
        }
      },
      'thread',
    ],
    ['earlier values', edited, (one: Dossier) => (one.revisions[0]!.old_values!.tags = ['x']), 'decision'],
  ])('%s', (_, forge, edit, check) => {
    const checks = failed(forge(edit as never))
    expect(checks).toContain(check)
    expect(checks).not.toContain('signature')
  })
})

test('a dossier of another key is consistent, and not that of the log', () => {
  const other = signerOf(testSigner.name, generateKeyPairSync('ed25519').privateKey)
  const forged = copy(dossier)
  forged.verifier_key = other.verifier_key
  expect(failed(resigned(forged, other))).toContain('key')
})

test('a duplicate member, and a number that is written otherwise, are refused; spaces and escapes are not', () => {
  const text = JSON.stringify(dossier)
  expect(verifyText(JSON.stringify(dossier, null, 2)).findings).toEqual([])
  expect(verifyText(text.replace('"invoice"', '"\\u0069nvoice"')).findings).toEqual([])
  const forms = [
    stableJson(dossier),
    text.replace('{', '{"decision":{"outcome":"failure"},'),
    text.replace('"dossier_format":1', '"dossier_format":1.0'),
    `${text}x`,
    '[]',
    '',
  ]
  for (const form of forms) expect(verifyText(form).findings.map(({ check }) => check)).toEqual(['form'])
})

test('a witness that cosigned the checkpoints of the receipts is found, and one that did not is not', () => {
  const own = witness()
  const by = readKey(own.verifier_key)
  const acts = copy(dossier)
  for (const receipt of acts.receipts) {
    const gap = receipt.proof.indexOf('\n\n') + 2
    receipt.proof = receipt.proof.slice(0, gap) + own.cosign(receipt.proof.slice(gap), 1_790_000_000)
  }
  const report = verifyDossier(JSON.stringify(resigned(acts)), { key, witness: by })
  expect(report.findings).toEqual([])
  expect(report.checks.find(({ check }) => check === 'witness')!.detail).toContain('2026-09-21T')
  // One that it did not see is enough.
  acts.receipts[3]!.proof = dossier.receipts[3]!.proof
  for (const unseen of [dossier, resigned(acts)]) {
    const { findings } = verifyDossier(JSON.stringify(unseen), { key, witness: by })
    expect([...new Set(findings.map(({ check }) => check))]).toEqual(['witness'])
  }
})

describe('cstp verify', () => {
  let dir = ''
  beforeAll(async () => {
    dir = await temporaryDir()
  })
  afterAll(() => rm(dir, { recursive: true, force: true }))
  const run = async (content: string, ...flags: string[]) => {
    const path = join(dir, 'dossier.json')
    await Bun.write(path, content)
    return cstp(['verify', path, ...flags], { PATH: process.env.PATH ?? '', HOME: '/nonexistent' })
  }

  test('says what is proved and what is not, and fails on a change', async () => {
    const good = await run(JSON.stringify(dossier, null, 2), '--key', testSigner.verifier_key)
    expect([good.err, good.status]).toEqual(['', 0])
    expect(good.out).toContain('dossier.json is valid')
    expect(good.out).toContain('The holder of the key that you gave signed exactly this dossier')
    const bad = await run(JSON.stringify(changed(['decision', 'outcome'])), '--json')
    expect(bad.status).toBe(1)
    expect(JSON.parse(bad.out)).toMatchObject({ verified: false })
    const wrong = await run(JSON.stringify(dossier), '--against', 'older.json')
    expect(wrong.status).toBe(2)
  })

  test('verifies what cstp dossier wrote of a data directory', async () => {
    const env = bareEnv(dir)
    const local = (...args: string[]) => cstp([...args, '--local'], env)
    const recorded = await local(
      'record',
      'Keep \u202e the catalogue',
      '--category',
      'architecture',
      '--confidence',
      '0.9',
      '--json',
    )
    const id = JSON.parse(recorded.out).decision_id as string
    const path = join(dir, 'd.json')
    const written = await local('dossier', id, '--format', 'json', '--out', path)
    expect([written.err, written.status]).toEqual(['', 0])
    const { out, status } = await cstp(['verify', path, '--json'], env)
    expect([JSON.parse(out).findings, status]).toEqual([[], 0])
  })
})
