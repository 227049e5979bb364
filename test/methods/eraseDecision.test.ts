/** cstp.eraseDecision: what is left of a decision, and what is refused, on every store. */
import { expect, test } from 'bun:test'
import { auditDigest } from '../../src/core/canonical.ts'
import { examineThread } from '../../src/domain/ledger/thread/examine/examine.ts'
import { readPolicy } from '../../src/verify/policy.ts'
import { verifyReceipts } from '../../src/verify/receipt.ts'
import { forEachBackend, type TestProgram } from '../support/program.ts'

const ground = { basis: 'GDPR Art. 17', reason: 'asked for by Mary Major' }
const text = 'Call the customer Jane Roe before every delivery'

/** A decision with a title, which another one names: as a related one, and by a link that says why. */
async function named(program: TestProgram): Promise<{ id: string; other: string }> {
  const { call, record } = program
  const id = await record({ decision: text, category: 'delivery', tags: ['jane'] })
  await call('reviewDecision', { id, outcome: 'success', lessons: 'Jane Roe answers in the morning' }, 'bob')
  await program.services.outbox.drain()
  await call('queryDecisions', { query: text }, 'bob')
  const other = await record({ decision: text.replace('before', 'after'), category: 'delivery' }, 'bob')
  const link = { source_id: other, target_id: id, edge_type: 'refines', context: 'as Jane Roe asked' }
  await call('linkDecisions', link, 'bob')
  await call('updateDecision', { id: other, updates: { tags: ['late'] } }, 'bob')
  return { id, other }
}

/** What an examination says an hour later, when no line is young. */
async function flawsOf({ services, store, clock }: TestProgram): Promise<string[]> {
  await services.thread.sequence()
  const sources = { ...store, evidence: services.evidence }
  const options = { yieldToEventLoop: async () => {}, now: clock.now + 3_600_000 }
  return (await Array.fromAsync(examineThread(sources, options))).map(({ what }) => what)
}

forEachBackend((open) => {
  test('its id stays as a tombstone: answers say that it was erased, and links show the id alone', async () => {
    const program = await open()
    const { call, refused } = program
    const { id, other } = await named(program)
    expect((await call('getDecision', { id: other })).related_to).toMatchObject([{ id, summary: text }])
    const answer = await call('eraseDecision', { id, ...ground }, 'root')
    expect(answer).toMatchObject({ erased: true, id, pending: [], copies: { decisions: 1 } })
    const erased = { at: expect.any(String), basis: ground.basis, redaction_record_id: answer.redaction_record_id }
    for (const [method, params] of [
      ['getDecision', { id }],
      ['getGraph', { id }],
      ['updateDecision', { id, updates: { tags: [] } }],
      ['reviewDecision', { id, outcome: 'failure' }],
    ] as const)
      expect([method, await refused(method, params, 'root')]).toMatchObject([
        method,
        { error: 'decision_not_found', data: { id, erased } },
      ])
    const left = await call('getDecision', { id: other })
    expect(left.related_to).toMatchObject([{ id, summary: '[erased]' }])
    expect(left.links.map(({ target_id, context }) => [target_id, context])).toEqual(left.links.map(() => [id, null]))
    expect(JSON.stringify(left)).not.toContain('as Jane Roe asked')
    expect((await call('getStats')).total).toBe(1)
    expect((await call('queryDecisions', { query: text })).decisions.map((one) => one.id)).toEqual([other])
    expect(await call('eraseDecision', { id, ...ground }, 'root')).toMatchObject({
      erased: true,
      copies: null,
      redaction_record_id: answer.redaction_record_id,
    })
    expect(await flawsOf(program)).toEqual([])
  })

  test('lines of the trail and acts keep their places without the text; earlier proofs hold', async () => {
    const program = await open()
    const { call, store, services } = program
    const { id } = await named(program)
    await services.thread.sequence()
    const [lines, { seq }] = [await store.audit.list({ limit: 100 }), await store.thread.head()]
    const commitments = await store.thread.hashes(1, seq)
    const note = await services.thread.checkpoints.latest()
    const earlier = await call('getReceipt', { decision_id: id }, 'root')
    const { redaction_record_id: by, copies } = await call('eraseDecision', { id, ...ground }, 'root')
    await services.thread.sequence()
    // Of each line everything but its detail is as before.
    const after = new Map((await store.audit.list({ limit: 100 })).map((line) => [line.seq, line]))
    const redacted = lines.filter((line) => !Bun.deepEquals(after.get(line.seq), line))
    expect(redacted.length).toBe(copies!.audit_lines)
    for (const line of redacted) {
      const { detail } = after.get(line.seq)!
      expect(after.get(line.seq)).toEqual({ ...line, detail })
      expect(detail).toMatchObject({ redacted_by: by })
    }
    for (const line of lines.filter(({ ids }) => ids.includes(id))) expect(redacted).toContain(line)
    // The tree is the one of before, and grew.
    expect(await store.thread.hashes(1, seq)).toEqual(commitments)
    const grown = await services.thread.checkpoints.latest()
    expect(grown.size).toBeGreaterThan(note.size)
    const acts = await store.thread.read({
      record_ids: (await store.thread.ofDecision(id, 100)).map(({ record_id }) => record_id),
    })
    expect(acts.filter(({ seq: at }) => at! <= seq).map(({ payload, salt }) => payload ?? salt)).toEqual(
      acts.filter(({ seq: at }) => at! <= seq).map(() => null),
    )
    // Who has a receipt from before still proves what it says; a new one proves the place alone.
    const trusted = readPolicy(`log ${services.thread.signer.verifier_key}\nquorum none\n`)
    expect(verifyReceipts(JSON.stringify(earlier), trusted)).toMatchObject({ verified: true, findings: [] })
    const later = await call('getReceipt', { record_id: `${id}@1` }, 'root')
    expect(later.receipts).toMatchObject([
      {
        payload: null,
        salt: null,
        commitment: earlier.receipts.find((one) => one.record_id === `${id}@1`)!.commitment,
      },
      { kind: 'redaction', record_id: by! },
    ])
    const [redaction] = await store.thread.read({ record_ids: [by!] })
    const said = JSON.parse(redaction!.payload!)
    expect(said).toMatchObject({
      ...{ kind: 'redaction', agent: 'root', basis: ground.basis, ids: [id] },
      lines: expect.arrayContaining(redacted.map((line) => line.seq)),
    })
    // The reason may name a person: administrators read it in the trail, and every act is silent about it.
    const all = await store.thread.read({ from: 1, limit: 200 })
    expect(all.filter(({ payload }) => payload?.includes(ground.reason))).toEqual([])
    const line = (await call('listAudit', { method: 'cstp.eraseDecision' }, 'root')).entries[0]!
    expect(line.detail).toMatchObject(ground)
    const { seq: _, ...kept } = (await store.audit.list({ limit: 200 })).find(({ seq }) => seq === line.seq)!
    expect(all.filter(({ payload }) => payload?.includes(auditDigest(kept)))).toHaveLength(1)
    const everything = JSON.stringify([await store.audit.list({ limit: 200 }), all])
    expect(everything).not.toContain('Jane Roe answers')
  })

  test('what is written while it looks for copies is part of it', async () => {
    const program = await open()
    const { call, record, services, store } = program
    const id = await record({ decision: text })
    let late = ''
    const yieldToEventLoop = async () => {
      // The page of decisions has been looked at.
      if (late !== '') return
      late = '-'
      late = await record({ decision: 'Deliver in the morning' }, 'bob')
      await call('linkDecisions', { source_id: late, target_id: id, edge_type: 'refines', context: text }, 'bob')
    }
    Object.assign(services, { yieldToEventLoop })
    await call('eraseDecision', { id, ...ground }, 'root')
    expect((await call('getDecision', { id: late })).links).toMatchObject([{ target_id: id, context: null }])
    const everything = [await store.audit.list({ limit: 200 }), await store.thread.read({ from: 1, limit: 200 })]
    expect(JSON.stringify(everything)).not.toContain(text)
  })

  test('a check that led to it keeps its verdict: the dry run lists it, and trail and redaction have it', async () => {
    const program = await open()
    const { call, store, services } = program
    await program.rules(
      '- { id: no-calls, message: No, conditions: [{ type: field, field: description, operator: contains, value: Jane }] }',
    )
    const { record_id, allowed } = await call('checkGuardrails', { action: { description: text } })
    expect(allowed).toBe(false)
    await program.rules('- { id: none, action: log, condition_stakes: critical }')
    const id = await program.record({ decision: text })
    const check = { record_id, allowed: false, verdict: 'deny', rules: ['no-calls'] }
    const dry = await call('eraseDecision', { id, ...ground, dry_run: true }, 'root')
    expect(dry.checks.filter(({ rules }) => rules.length > 0)).toMatchObject([check])
    const { checks, redaction_record_id: by } = await call('eraseDecision', { id, ...ground }, 'root')
    expect(checks).toEqual(dry.checks)
    const { entries } = await call('listAudit', { rule: 'no-calls' }, 'root')
    expect(entries).toMatchObject([{ allowed: false, detail: { verdict: 'deny', subject: '[erased]' } }])
    await services.thread.sequence()
    const [redaction] = await store.thread.read({ record_ids: [by!] })
    expect(JSON.parse(redaction!.payload!).checks).toEqual(checks)
    expect(JSON.stringify([entries, redaction])).not.toContain('Jane')
  })

  test('after it, links of evidence and copies that were written late are no sign of tampering', async () => {
    const program = await open()
    const { call, record, services } = program
    const id = await record({ decision: text })
    await call(
      'ingestEvidence',
      { source: 'ci', events: [{ event_type: 'ci_completed', ts: '2026-07-01T10:00:00Z', payload: { a: 1 } }] },
      'root',
    )
    await call('linkEvidence', { decision_id: id, event_seqs: [1] }, 'root')
    await call('eraseDecision', { id, ...ground, dry_run: true }, 'root')
    let late = ''
    const yieldToEventLoop = async () => {
      if (late !== '') return
      late = '-'
      late = await record({ decision: 'Deliver in the morning' }, 'bob')
      await call('linkDecisions', { source_id: late, target_id: id, edge_type: 'refines', context: text }, 'bob')
    }
    Object.assign(services, { yieldToEventLoop })
    await call('eraseDecision', { id, ...ground }, 'root')
    expect(await flawsOf(program)).toEqual([])
  })

  test('a dry run counts what would go, and takes nothing', async () => {
    const program = await open()
    const { call, store } = program
    const { id } = await named(program)
    const before = [await call('getDecision', { id }), await store.audit.list({ limit: 100 })]
    const dry = await call('eraseDecision', { id, ...ground, dry_run: true }, 'root')
    expect(dry).toMatchObject({ erased: false, redaction_record_id: null, copies: { decisions: 1 } })
    const [line, ...lines] = await store.audit.list({ limit: 100 })
    expect([await call('getDecision', { id }), lines]).toEqual(before)
    expect(line).toMatchObject({ method: 'cstp.eraseDecision', ids: [id], detail: { dry_run: true } })
    const { copies } = await call('eraseDecision', { id, ...ground }, 'root')
    // The line of the dry run says on which ground, and stays.
    expect(copies!.audit_lines).toBe(dry.copies!.audit_lines)
  })

  test('a legal hold refuses it, with its reason, until a curator lifts it; what compaction keeps is no hold', async () => {
    const { call, refused, record, store } = await open()
    const id = await record({ decision: text })
    const hold = { id, on: true, reason: 'Claim 12 of the insurer' }
    // Neither its recorder nor an administrator of the service sets or lifts a hold without curate.
    expect(await refused('setHold', hold)).toMatchObject({ error: 'forbidden', data: { scope: 'curate' } })
    await call('setPreserve', { decision_id: id })
    expect((await call('eraseDecision', { id, ...ground, dry_run: true }, 'root')).copies).not.toBeNull()
    const { holds } = await call('setHold', hold, 'curator')
    expect(holds).toEqual([{ by: 'curator', reason: hold.reason, since: expect.any(String) }])
    expect((await call('setHold', hold, 'curator')).holds).toEqual(holds)
    await call('setHold', { ...hold, reason: 'Audit' }, 'lead')
    await call('setPreserve', { decision_id: id, preserve: false })
    for (const dry_run of [true, false])
      expect(await refused('eraseDecision', { id, ...ground, dry_run }, 'root')).toMatchObject({
        error: 'invalid_params',
        message: expect.stringContaining(
          `under a legal hold of curator since ${holds[0]!.since} (and 1 more): Claim 12`,
        ),
        data: { holds: [...holds, { by: 'lead', reason: 'Audit' }] },
      })
    expect(await call('getDecision', { id })).toMatchObject({
      decision: text,
      holds: [{ by: 'curator' }, { by: 'lead' }],
    })
    expect(await refused('setHold', { id, on: false, reason: 'over' })).toMatchObject({ error: 'forbidden' })
    expect((await call('setHold', { id, on: false, reason: 'The claim is settled' }, 'lead')).holds).toEqual([])
    expect((await call('getDecision', { id })).holds).toBeUndefined()
    const lines = await store.audit.list({ method: 'cstp.setHold', limit: 9 })
    expect(lines.map(({ agent, detail }) => [agent, (detail as { on: boolean }).on])).toEqual([
      ['lead', false],
      ['lead', true],
      ['curator', true],
      ['curator', true],
    ])
    expect(await call('eraseDecision', { id, ...ground }, 'root')).toMatchObject({ erased: true })
  })

  test('what came from the same source is not recorded again', async () => {
    const { call, refused, record, store } = await open()
    const source_key = 'https://tracker.test/issue/17'
    const id = await record({ decision: text, source_key }, 'root')
    await record({ decision: 'Another one', source_key: `${source_key}0` }, 'root')
    await call('eraseDecision', { id: source_key, ...ground }, 'root')
    const again = { decision: text, confidence: 0.8, category: 'delivery', source_key }
    expect(await refused('recordDecision', again, 'root')).toMatchObject({
      error: 'invalid_params',
      data: { erased: true, issues: [{ path: 'source_key' }] },
    })
    expect(await record({ decision: text, source_key: `${source_key}1` }, 'root')).not.toBe(id)
    expect(JSON.stringify(await store.keyed.list('erased_source', { limit: 9 }))).not.toContain('tracker.test')
  })
})
