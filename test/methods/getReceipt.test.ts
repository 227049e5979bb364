/** cstp.getReceipt: receipts that the offline verifier accepts, on every store, and who may see whose. */
import { expect, test } from 'bun:test'
import { commitmentOf } from '../../src/domain/ledger/thread/commitment.ts'
import { readPolicy } from '../../src/verify/policy.ts'
import { verifyReceipts } from '../../src/verify/receipt.ts'
import { verifyWithSigstore } from '../support/evidence/sigstore.ts'
import { forEachBackend, memoryProgram, type Result, type TestProgram } from '../support/program.ts'

const verify = ({ services }: TestProgram, answer: Result<'getReceipt'>) =>
  verifyReceipts(JSON.stringify(answer), readPolicy(`log ${services.thread.signer.verifier_key}\nquorum none\n`))
const kindsOf = ({ receipts }: Result<'getReceipt'>) => receipts.map(({ kind }) => kind)

forEachBackend((open) => {
  test('every act of a decision has a receipt that anyone can verify', async () => {
    const program = await open()
    const { call, services } = program
    const id = await program.record({ confidence: 0.7, context: 'é \u{1f600} <b>' })
    await call('updateDecision', { id, updates: { confidence: 0.6 } })
    await call('reviewDecision', { id, outcome: 'success', actual_result: 'It held' }, 'bob')
    const answer = await call('getReceipt', { decision_id: id })
    expect(answer).toMatchObject({ pending: false, withheld: 0 })
    expect(kindsOf(answer)).toEqual(expect.arrayContaining(['decision', 'revision', 'review', 'score']))
    expect(answer.receipts.map(({ index }) => index)).toEqual(
      answer.receipts.map(({ index }) => index).toSorted((a, b) => a - b),
    )
    expect(verify(program, answer)).toMatchObject({ verified: true, findings: [] })
    const first = answer.receipts.find(({ kind }) => kind === 'decision')
    expect(first).toMatchObject({ record_id: `${id}@1`, payload: { record: { id, confidence: 0.7 } } })
    // Sigstore's verifier accepts what it states, which is of the state that the act has.
    verifyWithSigstore(first!.statement, services.signer.verifier_key)
    expect([JSON.parse(first!.payload_json!), commitmentOf(first!.salt!, first!.payload_json!)]).toEqual([
      first!.payload,
      first!.commitment,
    ])
    const { dsseEnvelope } = first!.statement as { dsseEnvelope: { payload: string } }
    const { predicate } = JSON.parse(Buffer.from(dsseEnvelope.payload, 'base64').toString())
    expect(predicate.decision.confidence).toBe(0.7)
    expect(Object.keys(predicate)).not.toContain('humanOversight')
    expect(Object.keys(predicate)).not.toContain('evidence')
    // The same place for ever, however the log grows.
    await program.record({ decision: 'Another one' })
    await services.thread.sequence()
    const again = await call('getReceipt', { record_id: `${id}@1` }, 'reader')
    expect(again.receipts[0]).toMatchObject({ index: first!.index, commitment: first!.commitment })
    const changed = structuredClone(answer)
    ;(
      changed.receipts.find(({ kind }) => kind === 'decision')!.payload as { record: { confidence: number } }
    ).record.confidence = 0.9
    expect(verify(program, changed).verified).toBe(false)
  })

  test('what was erased is proved without its content', async () => {
    const program = await open()
    const { call } = program
    const id = await program.record()
    const [before] = (await call('getReceipt', { record_id: `${id}@1` })).receipts
    await call('eraseDecision', { id, basis: 'GDPR Art. 17', reason: 'asked for' }, 'root')
    const answer = await call('getReceipt', { record_id: `${id}@1` })
    expect(answer.receipts).toMatchObject([
      { payload: null, payload_json: null, salt: null, commitment: before!.commitment },
      { kind: 'redaction' },
    ])
    expect(JSON.stringify(answer.receipts[1]!.payload)).toContain(before!.commitment)
    // Another kind under the same entry, and an act whose redaction is not beside it.
    const [erased, redaction] = answer.receipts
    expect(verify(program, { ...answer, receipts: [{ ...erased!, kind: 'approval' }, redaction!] }).verified).toBe(
      false,
    )
    expect(verify(program, { ...answer, receipts: [erased!] }).verified).toBe(false)
    expect(verify(program, answer).checks.map(({ result }) => result)).toEqual([
      'passed',
      'unproved',
      'passed',
      'passed',
      'unasked',
    ])
  })
})

test('each of the five verdicts has a receipt that verifies with the key of the log alone', async () => {
  const program = await memoryProgram()
  await program.rules(`
- { id: no, message: Never, condition_context.tool: drop }
- { id: ask, action: step_up, message: A person, step_up: { expires: 1h }, condition_context.tool: delete }
- { id: later, action: defer, defer: { reason: Unknown, expires: 1h }, condition_context.tool: rotate }
- { id: safer, action: modify, message: Safer, modify: { set: { context.to: team } }, condition_context.tool: send }
`)
  const verdicts = { read: 'allow', drop: 'deny', delete: 'step_up', rotate: 'defer', send: 'modify' }
  for (const [tool, verdict] of Object.entries(verdicts)) {
    const action = { description: tool, category: 'tool_use', context: { tool } }
    const { record_id } = await program.call('checkGuardrails', { action })
    const answer = await program.call('getReceipt', { record_id })
    expect(verify(program, answer).verified).toBe(true)
    const policy_hash = expect.stringMatching(/^[0-9a-f]{64}$/)
    expect(answer.receipts).toMatchObject([{ payload: { kind: 'verdict', verdict, agent: 'alice', policy_hash } }])
  }
})

test('a verdict is for its agent and for administrators; a list says how many acts it withholds', async () => {
  const program = await memoryProgram()
  const { call, refused } = program
  const id = await program.record()
  await call('setPreserve', { id, preserve: true }, 'curator')
  const { record_id } = await call('checkGuardrails', { action: { description: 'Deploy' } })
  expect(kindsOf(await call('getReceipt', { record_id }))).toEqual(['verdict'])
  expect(kindsOf(await call('getReceipt', { record_id }, 'root'))).toEqual(['verdict'])
  for (const who of ['bob', 'reader', 'curator', 'approver'] as const)
    expect((await refused('getReceipt', { record_id }, who)).error).toBe('forbidden')
  const all = await call('getReceipt', { decision_id: id }, 'root')
  const seen = await call('getReceipt', { decision_id: id }, 'reader')
  expect(all.withheld).toBe(0)
  expect(seen.receipts.length + seen.withheld).toBe(all.receipts.length)
  expect(kindsOf(seen)).not.toContain('verdict')
  expect(kindsOf(seen)).not.toContain('call')
})

test('an act that waits gets its place for the answer, and a filter leaves the others out', async () => {
  const program = await memoryProgram()
  const { call, store } = program
  const id = await program.record()
  expect((await store.thread.read({ record_ids: [`${id}@1`] }))[0]!.seq).toBeNull()
  expect(kindsOf(await call('getReceipt', { decision_id: id, kind: 'decision' }))).toEqual(['decision'])
  expect((await call('getReceipt', { decision_id: id, kind: 'redaction' })).receipts).toEqual([])
})
