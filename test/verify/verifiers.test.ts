/** The verifiers of docs/verify, which share no line with the service: receipts that are hard to read, and every way to forge one. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { canonical } from '../../src/core/canonical.ts'
import { readPolicy } from '../../src/verify/policy.ts'
import { verifyReceipts } from '../../src/verify/receipt.ts'
import { decidedStory } from '../support/evidence/dossiers.ts'
import { logSigner, witness } from '../support/evidence/note-signers.ts'
import { madeLog } from '../support/evidence/receipts.ts'
import { root, run, temporaryDir } from '../support/process.ts'
import { openMemoryProgram } from '../support/program.ts'
import { buildGo, whyNoGo } from '../support/sumdb/go.ts'

const made = madeLog()
const [first, second] = [made.receipts[1]!, made.receipts[2]!]
const payload = first.payload as Record<string, unknown>
const changed = { ...payload, agent: 'x' }
const alone = made.witnesses[0].cosign(made.log.note(made.size, made.tree.root(made.size)), 1_790_000_000)
const wrong = witness('witness.example/b', 'stranger').cosign(alone, 1_790_000_001)

/** Files by name, and whether they are valid. */
const files: [name: string, receipts: unknown, isValid: boolean][] = [
  ['all', made.receipts, true],
  ['one', first, true],
  ['extra data', { ...first, proof: first.proof.replace('\nindex', '\nextra AAAA\nindex') }, true],
  ['another text', { ...first, payload_json: first.payload_json!.replace('planner', 'plannes') }, false],
  ['payload and text of another', { ...first, payload: changed, payload_json: canonical(changed) }, false],
  ['true for 1', { ...first, payload: { ...payload, record: { ...(payload.record as object), '10': true } } }, false],
  ['its text with spaces', { ...first, payload_json: JSON.stringify(payload, null, 1) }, false],
  ['another payload', { ...first, payload: changed }, false],
  ['another salt', { ...first, salt: second.salt }, false],
  ['another act', { ...first, record_id: second.record_id }, false],
  ['another kind', { ...first, kind: 'verdict' }, false],
  ['another place', { ...first, index: 42 }, false],
  ['the proof of another place', { ...first, index: 42, proof: made.proofOf(42) }, false],
  ['a longer path', { ...first, proof: first.proof.replace('\n\n', `\n${'A'.repeat(43)}=\n\n`) }, false],
  ['a shorter path', { ...first, proof: first.proof.replace(/\n[^\n]+\n\n/, '\n\n') }, false],
  ['another size', { ...first, proof: first.proof.replace('\n300\n', '\n301\n') }, false],
  ['another origin', { ...first, proof: first.proof.replace('\nlog.example', '\nlog.example2') }, false],
  ['too few witnesses', { ...first, proof: made.proofOf(41, alone) }, false],
  ['a wrong cosignature', { ...first, proof: made.proofOf(41, wrong) }, false],
  ['an erased one', { ...first, payload: null, payload_json: null, salt: null }, false],
]

const answerOf = (receipts: unknown) => ({ receipts: [receipts].flat(), pending: false, withheld: 0 })

/** Texts that other readers may read otherwise. */
const texts: [name: string, change: (text: string) => string][] = [
  ['a member twice', (text) => text.replace('"index":', '"index": 7, "index":')],
  ['a member of the payload twice', (text) => text.replace('"agent":', '"agent": "eve", "agent":')],
  ['a further member', (text) => text.replace('"index":', '"approved": true, "index":')],
  ['a number in another form', (text) => text.replace('"index": 41', '"index": 41.0')],
  ['a number of the payload in another form', (text) => text.replace('0.00005', '5e-5')],
]

describe('the verifiers of docs/verify', () => {
  let dir = ''
  beforeAll(async () => {
    dir = await temporaryDir('cstp-verifiers-')
    for (const [name, file] of files)
      await Bun.write(join(dir, `${name}.json`), JSON.stringify(answerOf(file), null, 1))
    for (const [name, change] of texts) {
      const text = JSON.stringify(answerOf(first), null, 1)
      expect([name, change(text) === text]).toEqual([name, false])
      await Bun.write(join(dir, `${name}.json`), change(text))
    }
    if (whyNoGo === null) await buildGo(join(root, 'docs/verify/verify.go'), join(dir, 'verify'))
  }, 120_000)
  afterAll(() => rm(dir, { recursive: true, force: true }))

  const keys = [made.log.verifier_key, ...made.witnesses.map(({ verifier_key }) => verifier_key)]
  const judge = async (command: string[]) => {
    const verdicts: [string, boolean][] = []
    for (const [name] of [...files, ...texts]) {
      const { status } = await run([...command, `${name}.json`, ...keys], {
        cwd: dir,
        env: { PATH: process.env.PATH! },
      })
      verdicts.push([name, status === 0])
    }
    const [stranger, another] = [logSigner('log.example/thread', 'stranger'), witness('witness.example/c', 'c')]
    for (const [log, ...others] of [
      [stranger.verifier_key],
      [made.log.verifier_key, another.verifier_key],
      [made.log.verifier_key.replace(/\+(.)/, '+f$1').slice(0, -1)],
    ] as string[][])
      expect(
        (await run([...command, 'one.json', log!, ...others], { cwd: dir, env: { PATH: process.env.PATH! } })).status,
      ).toBe(1)
    return verdicts
  }
  const expected = [
    ...files.map(([name, , isValid]): [string, boolean] => [name, isValid]),
    ...texts.map(([name]): [string, boolean] => [name, false]),
  ]
  const whyNoPython = Bun.which('python3') === null ? 'there is no python3' : null

  test.skipIf(whyNoPython !== null)(
    `Python agrees with the service's own${whyNoPython ? ` (skipped: ${whyNoPython})` : ''}`,
    async () => {
      // Without assertions too, which an option of Python turns off.
      expect(await judge(['python3', '-O', join(root, 'docs/verify/verify.py')])).toEqual(expected)
    },
    120_000,
  )

  test.skipIf(whyNoPython !== null)('Python reads the receipts of a dossier', async () => {
    const program = await openMemoryProgram()
    const { id } = await decidedStory(program)
    const dossier = await program.call('getDossier', { id }, 'root')
    await program.close()
    await Bun.write(join(dir, 'dossier.json'), JSON.stringify(dossier))
    const script = join(root, 'docs/verify/verify.py')
    const { status, out } = await run(['python3', script, 'dossier.json', dossier.thread_key], {
      cwd: dir,
      env: { PATH: process.env.PATH! },
    })
    expect([status, out.match(/^valid: entry/gm)?.length]).toEqual([0, dossier.receipts.length])
  })

  test.skipIf(whyNoGo !== null)(
    `Go agrees with the service's own${whyNoGo ? ` (skipped: ${whyNoGo})` : ''}`,
    async () => {
      expect(await judge([join(dir, 'verify')])).toEqual(expected)
    },
  )

  test('and so does the service', () => {
    const policy = readPolicy(made.policy)
    const of = (text: string) => verifyReceipts(text, policy).verified
    const verdicts = [
      ...files.map(([name, file]) => [name, of(JSON.stringify(answerOf(file)))]),
      ...texts.map(([name, change]) => [name, of(change(JSON.stringify(answerOf(first), null, 1)))]),
    ]
    expect(verdicts).toEqual(expected)
  })
})
