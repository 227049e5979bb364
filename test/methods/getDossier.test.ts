/** cstp.getDossier: what it gathers of one decision, for whom, and that it verifies offline as it is. */
import { expect, test } from 'bun:test'
import { isTooLong } from '../../src/calls/page.ts'
import { verifyDossier } from '../../src/verify/dossier.ts'
import { readKey } from '../../src/verify/note.ts'
import { decidedStory } from '../support/evidence/dossiers.ts'
import { verifyWithSigstore } from '../support/evidence/sigstore.ts'
import { forEachBackend, memoryProgram, testSigner } from '../support/program.ts'

const key = readKey(testSigner.verifier_key)
const verify = (dossier: unknown) => verifyDossier(JSON.stringify(dossier), { key, witness: null })

forEachBackend((open) => {
  test('everything that concerns a decision is in it, and verifies with the key of the log', async () => {
    const program = await open()
    const { id, other } = await decidedStory(program)
    const dossier = await program.call('getDossier', { id: id.slice(-12) }, 'root')
    expect(dossier.decision).toEqual(await program.call('getDecision', { id }))
    expect(dossier.withheld).toEqual([])
    expect(dossier.trail.map(({ method, agent }) => [method.replace('cstp.', ''), agent])).toEqual([
      ['approval.requested', 'alice'],
      ['checkGuardrails', 'alice'],
      ['approval.decided', 'carol'],
      ['preAction', 'alice'],
      ['approval.consumed', 'alice'],
      ['preAction', 'alice'],
      ['linkEvidence', 'root'],
      ['linkDecisions', 'alice'],
      ['updateDecision', 'alice'],
      ['reviewDecision', 'bob'],
    ])
    expect(dossier.approvals).toMatchObject([{ state: 'consumed', decided_by: 'carol', reason: 'Checked the invoice' }])
    expect(dossier.policy).toMatchObject({ guardrails: [{ id: 'pay' }] })
    expect(dossier.policy!.policy_hash).toBe(dossier.decision.verdict!.policy_hash)
    expect(dossier.evidence.map(({ seq, relation }) => [seq, relation])).toEqual([
      [1, 'pull_request'],
      [2, 'pull_request'],
      [3, 'linked'],
      [5, 'link'],
    ])
    expect(dossier.evidence_total).toBe(4)
    expect(dossier.revisions).toMatchObject([{ fields: ['tags'], old_values: { tags: [] } }])
    expect(dossier.links).toMatchObject([{ source_id: id, target_id: other, edge_type: 'depends_on' }])
    expect(dossier.receipts.map(({ kind }) => kind)).toEqual([
      ...[
        'approval',
        'verdict',
        'approval',
        'verdict',
        'approval',
        'verdict',
        'decision',
        'call',
        'link',
        'revision',
        'review',
        'score',
        'evidence',
        'evidence',
        'evidence',
        'evidence',
      ],
    ] as never[])
    expect(dossier.score).toMatchObject({ confidence: 0.9, outcome: 'success', settled_by: 'others', value: 1 })
    expect(dossier.score!.brier).toBeCloseTo(0.01)
    const report = verify(dossier)
    expect(report.findings).toEqual([])
    const open_checks = report.checks.filter(({ result }) => result !== 'passed')
    expect(open_checks).toMatchObject([{ check: 'witness', result: 'unasked' }])
    expect(report.dossier).toMatchObject({ decision_id: id, events: 4 })
    verifyWithSigstore(dossier.statement, testSigner.verifier_key)
  })
})

test('what a caller may not read elsewhere is left out, and the dossier says so and still verifies', async () => {
  const program = await memoryProgram()
  const { id } = await decidedStory(program)
  const dossier = await program.call('getDossier', { id }, 'bob')
  expect(dossier.trail.map(({ method }) => method)).toEqual(['cstp.reviewDecision'])
  expect(dossier.approvals).toEqual([])
  expect(dossier.withheld).toEqual(['trail', 'approvals', 'receipts'])
  const report = verify(dossier)
  expect(report.findings).toEqual([])
  for (const check of ['verdict', 'thread'])
    expect(report.checks.find((one) => one.check === check)!.result).toBe('unproved')
  expect(report.open.join(' ')).toContain(
    'left out, as its reader may not see it or as it is too long: trail, approvals, receipts',
  )
})

test('a decision with nothing beside it has a dossier too', async () => {
  const program = await memoryProgram()
  const dossier = await program.call('getDossier', { id: await program.record() }, 'root')
  expect(dossier).toMatchObject({ approvals: [], evidence: [], links: [], revisions: [], score: null })
  expect(verify(dossier).findings).toEqual([])
})

test('a record that changes while its dossier is made is read again', async () => {
  const program = await memoryProgram()
  const id = await program.record()
  const { publisher } = program.services
  let changes = 2
  program.services.publisher = {
    ...publisher,
    async covering(size) {
      if (changes-- > 0) await program.call('updateDecision', { id, updates: { tags: [`t${changes}`] } })
      return publisher.covering(size)
    },
  }
  const dossier = await program.call('getDossier', { id }, 'root')
  expect(dossier.decision.tags).toEqual(['t0'])
  expect(verify(dossier).findings).toEqual([])
})

test('lines of a trail are found however many others there are before and after', async () => {
  const program = await memoryProgram()
  const other = await program.record()
  const many = async () => {
    for (let at = 0; at < 150; at++) {
      program.clock.now += 1_000
      await program.call('linkEvidence', { decision_id: other, event_seqs: [1] }, 'root')
    }
  }
  const event = { event_type: 'ci_completed', ts: '2026-06-01T10:00:00Z', payload: { n: 1 } }
  await program.call('ingestEvidence', { source: 'ci', events: [event] }, 'root')
  await many()
  const id = await program.record({ decision: 'In the middle' })
  program.clock.now += 3_600_000
  const { attested_seq } = await program.call('linkEvidence', { decision_id: id, event_seqs: [1] }, 'root')
  await many()
  const { audit } = program.services.store
  const { list } = audit
  let read = 0
  audit.list = async (query) => {
    const lines = await list(query)
    read += lines.length
    return lines
  }
  const { trail, evidence } = await program.call('getDossier', { id }, 'root')
  expect(trail.map(({ ids }) => ids)).toEqual([[id], [id]])
  expect(evidence.map(({ seq, relation }) => [seq, relation])).toEqual([
    [1, 'linked'],
    [attested_seq, 'link'],
  ])
  // By halving to each time, and a page there.
  expect(read).toBeLessThan(280)
})

test('a decision that was updated often, with long texts, has a dossier that is not too long and verifies', async () => {
  const program = await memoryProgram()
  const id = await program.record()
  const text = (at: number) => `Update ${at} ${'ü'.repeat(95_000)}`
  for (let at = 0; at < 130; at++) await program.call('updateDecision', { id, updates: { context: text(at) } })
  await program.call('reviewDecision', { id, outcome: 'success' }, 'bob')
  for (let at = 130; at < 134; at++)
    await program.call('updateDecision', { id, updates: { context: text(at) } }, 'curator')
  const dossier = await program.call('getDossier', { id }, 'root')
  expect(isTooLong([JSON.stringify(dossier)])).toBe(false)
  expect(dossier.withheld).toEqual(['receipts'])
  expect(dossier.receipts.map(({ kind }) => kind)).toEqual(expect.arrayContaining(['decision', 'review', 'score']))
  expect(verify(dossier).findings).toEqual([])
  const answer = await program.call('getReceipt', { decision_id: id }, 'root')
  expect(answer.shortened).toBe(true)
  expect(isTooLong([JSON.stringify(answer)])).toBe(false)
  // What is asked for is not crowded out by what is not.
  const score = await program.call('getReceipt', { decision_id: id, kind: 'score' }, 'root')
  expect([score.receipts.length, score.shortened]).toEqual([1, undefined])
})

test('a decision with more updates than a dossier has receipts still has its last state', async () => {
  const program = await memoryProgram()
  const id = await program.record()
  for (let at = 0; at < 205; at++) await program.call('updateDecision', { id, updates: { tags: [`t${at}`] } })
  const dossier = await program.call('getDossier', { id }, 'root')
  expect(dossier.receipts.at(-1)!.payload).toMatchObject({ record: { tags: ['t204'] } })
  expect(verify(dossier).findings).toEqual([])
})
