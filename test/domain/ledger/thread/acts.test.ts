/** Each act through the methods is appended to the ledger: kinds, ids, payloads, commitments, places. */

import { expect, setDefaultTimeout, test } from 'bun:test'
import { readDecision } from '../../../../sdk/storage/decisions.ts'
import { StorageError } from '../../../../sdk/storage/errors.ts'
import type { AuditEntry } from '../../../../sdk/storage/store.ts'
import type { StoredAct } from '../../../../sdk/storage/thread.ts'
import { auditDigest, canonical, textOf } from '../../../../src/core/canonical.ts'
import { openNote, parseVerifier } from '../../../../src/domain/ledger/engine/note.ts'
import { proveInclusion } from '../../../../src/domain/ledger/engine/proof.ts'
import { actsOf } from '../../../../src/domain/ledger/thread/acts.ts'
import { commitmentOf } from '../../../../src/domain/ledger/thread/commitment.ts'
import { stateId } from '../../../../src/domain/record/act-ids.ts'
import { askingRules, requested } from '../../../support/asking.ts'
import { event, ingest } from '../../../support/evidence/ingest.ts'
import { forEachBackend, memoryProgram, type TestProgram } from '../../../support/program.ts'
import * as fc from '../../../support/property.ts'

setDefaultTimeout(120_000)

type Payload = Record<string, unknown>
const payloadOf = ({ payload }: StoredAct): Payload => JSON.parse(payload!) as Payload

/** All acts, in their order; each holds together, and the tree covers it. */
async function told({ services: { thread }, store }: TestProgram): Promise<StoredAct[]> {
  await thread.sequence()
  const acts = await store.thread.read({ from: 1, limit: 9_999 })
  for (const act of acts) {
    expect(act.commitment).toBe(commitmentOf(act.salt!, act.payload!))
    expect(canonical(JSON.parse(act.payload!))).toBe(act.payload!)
    expect(payloadOf(act)).toMatchObject({ kind: act.kind, record_id: act.record_id, at: act.at })
  }
  expect(new Set(acts.map(({ salt }) => salt)).size).toBe(acts.length)
  const { note } = await thread.checkpoints.latest()
  const { text } = openNote(note, [parseVerifier(thread.signer.verifier_key)])
  expect(text.split('\n').slice(0, 2)).toEqual([`cstp.test/log/thread`, String(acts.length)])
  return acts
}

const kindsOf = (acts: readonly StoredAct[]) => acts.map(({ kind }) => kind)

const rules = '- { id: no-prod, message: no deploys, condition_category: deploy }'

forEachBackend((open) => {
  test('a decision from its record to its score is one act after the other, each in the tree', async () => {
    const program = await open()
    const id = await program.record({ stakes: 'high' })
    await program.call('updateDecision', { id, updates: { context: 'it has to be small' } })
    const other = await program.record({ decision: 'Use files' })
    await program.call('linkDecisions', { source_id: id, target_id: other, edge_type: 'relates_to' })
    await program.call('reviewDecision', { decision_id: id, outcome: 'success' }, 'bob')
    await ingest(program, event(), event())
    const acts = await told(program)
    const of = (decision: string) => acts.filter(({ decision_id }) => decision_id === decision)
    const mine = of(id).filter(({ kind }) => kind !== 'verdict')
    expect(mine.map(({ kind, record_id }) => [kind, record_id])).toEqual([
      ['decision', stateId(id, 1)],
      ['revision', stateId(id, 2)],
      ['link', stateId(id, 3)],
      ['review', stateId(id, 4)],
      ['score', `${stateId(id, 4)}/score`],
    ])
    expect(mine.map((act) => payloadOf(act).agent)).toEqual(['alice', 'alice', 'alice', 'bob', 'bob'])
    const { record, revision } = (await readDecision(program.store.decisions, id))!
    expect(payloadOf(mine[3]!)).toMatchObject({ revision, record: JSON.parse(JSON.stringify(record)) })
    expect(payloadOf(mine[4]!)).toMatchObject({ outcome: 'success', settled_by: 'others', confidence: 0.8, value: 1 })
    expect((await program.store.thread.ofDecision(id, 99)).map(({ record_id }) => record_id)).toEqual(
      of(id).map(({ record_id }) => record_id),
    )
    // The verdict that allowed a record precedes it.
    const verdict = of(id).find(({ kind }) => kind === 'verdict')
    expect(record.verdict?.record_id ?? verdict?.record_id).toBe(verdict?.record_id)
    const evidence = acts.filter(({ kind }) => kind === 'evidence')
    const [first] = await program.services.evidence.read(1, 1)
    expect(evidence.map(({ record_id }) => record_id)).toEqual(['evidence/1', 'evidence/2'])
    expect(payloadOf(evidence[0]!)).toMatchObject({ seq: 1, hash: first!.hash, source: first!.source })
    for (const { seq } of acts) {
      const proof = await proveInclusion(program.store.thread, seq!, acts.length)
      expect(proof.record_hash).toBe(acts[seq! - 1]!.commitment)
    }
  })

  test('every line of the audit trail has one act that names its digest', async () => {
    const program = await open()
    await program.rules(rules)
    const id = await program.record()
    await program.call('checkGuardrails', { action: { description: 'ship', category: 'deploy' } })
    await program.call('checkGuardrails', { action: { description: 'read', category: 'tooling' }, dry_run: true })
    await program.call('setPreserve', { id, preserve: true }, 'root')
    await program.call('recordThought', { text: 'why not' })
    await program.call('reloadGuardrails', {}, 'root')
    const acts = await told(program)
    const named = acts.flatMap((act) => (payloadOf(act).audit_sha256 as string | undefined) ?? [])
    const lines = await program.store.audit.list({ limit: 999 })
    const digests = lines.map(({ seq: _, ...line }) => auditDigest(line))
    expect(named.toSorted()).toEqual(digests.toSorted())
    expect(acts.filter(({ kind }) => kind === 'policy').length).toBe(1)
    const blocked = acts.find((act) => act.kind === 'verdict' && payloadOf(act).allowed === false)!
    expect(payloadOf(blocked)).toMatchObject({ agent: 'alice', verdict: 'deny', rules: ['no-prod'] })
    const line = lines.find(({ allowed }) => allowed === false)!
    expect(blocked.record_id).toBe((line.detail as Payload).record_id as string)
    expect(kindsOf(acts).filter((kind) => kind === 'call').length).toBe(2)
    // A line that is changed has another digest.
    expect(named).not.toContain(auditDigest({ ...line, agent: 'bob' }))
    expect(named).not.toContain(auditDigest({ ...line, detail: { ...(line.detail as Payload), allowed: true } }))
  })

  test('lines that the store adds by itself have their acts too', async () => {
    const { store, record, clock, ...program } = await open()
    await record()
    clock.now += 1_000
    const seq = (await store.audit.list({ limit: 1 }))[0]!.seq
    await store.transaction((tx) =>
      tx.erase({ audit: { lines: [{ seq, detail: { redacted_by: 'x' } }], redacted_by: 'x' } }),
    )
    await store.transaction((tx) => tx.erase({ expired: { before_ms: clock.now, keep: [], limit: 9 } }))
    const acts = await told({ store, record, clock, ...program })
    const named = new Set(acts.map((act) => payloadOf(act).audit_sha256))
    const lines = await store.audit.list({ limit: 9 })
    expect(lines.map(({ method }) => method)).toEqual(['audit.retention', 'audit.redaction'])
    for (const { seq: _, ...line } of lines) expect(named).toContain(auditDigest(line))
  })

  test('two servers give places to the acts of both, and the evidence is in the thread once', async () => {
    const program = await open()
    const second = await program.second()
    await Promise.all(
      [program, second].flatMap((one) => [
        ...Array.from({ length: 8 }, () => one.record()),
        ingest(one, event(), event(), event()),
      ]),
    )
    await Promise.all([program.services.thread.sequence(), second.services.thread.sequence()])
    const acts = await told(program)
    expect(kindsOf(acts).filter((kind) => kind === 'decision').length).toBe(16)
    const evidence = acts.filter(({ kind }) => kind === 'evidence').map(({ record_id }) => record_id)
    const { seq } = await program.services.evidence.head()
    expect(evidence).toEqual(Array.from({ length: seq }, (_, at) => `evidence/${at + 1}`))
  })
})

test('an answer names its act; with durability logged it has its place already', async () => {
  const program = await memoryProgram()
  const given = { decision: 'Use SQLite', confidence: 0.8, category: 'architecture' }
  const placeOf = async (record_id: string) => (await program.store.thread.read({ record_ids: [record_id] }))[0]!.seq
  const stored = await program.call('recordDecision', given)
  expect(await placeOf(stored.record_id)).toBe(null)
  const logged = await program.call('recordDecision', { ...given, durability: 'logged' })
  expect(await placeOf(logged.record_id)).toBeGreaterThan((await placeOf(stored.record_id))!)
  const action = { description: 'read' }
  const check = await program.call('checkGuardrails', { action, durability: 'logged' })
  expect(await placeOf(check.record_id!)).toBe((await program.store.thread.head()).seq)
  const { record_id } = await program.call('reviewDecision', { decision_id: stored.decision_id, outcome: 'failure' })
  expect((await program.store.thread.read({ record_ids: [record_id] })).map(({ kind }) => kind)).toEqual(['review'])
  expect(JSON.stringify(await program.call('getDecision', { id: logged.decision_id }))).not.toContain('durability')
  program.services.thread.sequence = async () => {
    throw new StorageError('unavailable', 'lost')
  }
  const refused = await program.refused('checkGuardrails', { action, durability: 'logged' })
  expect(refused.message).toContain('the change may have been made')
})

test('a call that is refused leaves no act', async () => {
  const program = await memoryProgram()
  await program.services.thread.sequence()
  const before = (await program.store.thread.head()).seq
  await program.refused('reviewDecision', { decision_id: 'none', outcome: 'success' })
  const failed = program.store.transaction(async (tx) => {
    await tx.append({
      audit: [
        {
          at: '2026-01-01T00:00:00Z',
          agent: 'a',
          method: 'm',
          request_id: 'r',
          ids: [],
          allowed: null,
          rules: [],
          detail: null,
        },
      ],
    })
    throw new Error('changed its mind')
  })
  expect(await failed.catch(() => 'thrown')).toBe('thrown')
  await program.services.thread.sequence()
  expect((await program.store.thread.head()).seq).toBe(before)
})

test('an approval is an act for each of its steps', async () => {
  const program = await memoryProgram()
  await program.rules(askingRules)
  const id = await requested(program, 1)
  await program.call('decideApproval', { id, decision: 'approve', reason: 'fine' }, 'carol')
  await requested(program, 1)
  const steps = (await told(program)).filter(({ kind }) => kind === 'approval')
  expect(steps.map(({ record_id }) => record_id.replace(/[^/]*-evaluation-.*/, '…'))).toEqual([
    `${id}/requested`,
    `${id}/decided`,
    `${id}/consumed/…`,
  ])
  expect(steps.map((act) => payloadOf(act).state)).toEqual(['pending', 'approved', 'consumed'])
})

test('any line of the trail and any value is canonical text, the same after the store has kept it', () => {
  const value = fc.jsonValue({ maxDepth: 4, noUnicodeString: false })
  fc.assert(
    fc.property(value, fc.string({ unit: 'binary' }), (detail, agent) => {
      const line: AuditEntry = {
        at: '2026-01-01T00:00:00Z',
        agent,
        method: 'm',
        request_id: 'r',
        ids: [],
        allowed: null,
        rules: [],
        detail,
      }
      const kept = JSON.parse(JSON.stringify(line)) as AuditEntry
      expect(auditDigest(kept)).toBe(auditDigest(line))
      const text = textOf({ detail })
      expect(canonical(JSON.parse(text))).toBe(text)
    }),
  )
  const odd = { a: 1e21, b: [-1e300, '\ud800'], c: undefined, '\udfff': 2 ** 53 }
  expect(textOf(odd)).toBe(textOf(JSON.parse(JSON.stringify(odd))))
  expect(auditDigest({ detail: 2 ** 53 } as AuditEntry)).not.toBe(auditDigest({ detail: 2 ** 53 + 2 } as AuditEntry))
})

test('nothing that was written makes no act, and acts of one moment have ids of their own', () => {
  let given = 0
  const tools = { now: () => 0, randomHex: (bytes: number) => (given++).toString(16).padStart(2 * bytes, '0') }
  expect(actsOf({ decisions: [], audit: [], keyed: [], states: new Map() }, tools)).toEqual([])
  const line = {
    at: '1970-01-01T00:00:00Z',
    agent: 'a',
    method: 'm',
    request_id: 'r',
    ids: [],
    allowed: null,
    rules: [],
  }
  const acts = actsOf(
    { decisions: [], audit: [line, line].map((one) => ({ ...one, detail: null })), keyed: [], states: new Map() },
    tools,
  )
  expect(new Set(acts.map(({ record_id }) => record_id)).size).toBe(2)
})
