/** cstp.linkEvidence: a decision attests events with its own stakes and state, on every store. */

import { expect, test } from 'bun:test'
import { readDecision } from '../../sdk/storage/decisions.ts'
import { contentDigest } from '../../src/domain/ledger/evidence/content.ts'
import { event, ingest } from '../support/evidence/ingest.ts'
import { forEachBackend } from '../support/program.ts'

forEachBackend((open) => {
  test('attests with the decision’s own stakes and state', async () => {
    const program = await open()
    const { call } = program
    const id = await program.record({ stakes: 'high' })
    await ingest(program, event(), event(), event())
    const params = { decision_id: id.slice(0, 26), event_seqs: [3, 1] }
    expect(await call('linkEvidence', params, 'root')).toEqual({ linked: 2, decision_id: id, attested_seq: 4 })
    const { events } = await call('listEvidence', { evidence_class: 'attested' })
    expect(events).toMatchObject([
      {
        seq: 4,
        source: 'cstp:root',
        event_type: 'cstp_decision_linked',
        evidence_class: 'attested',
        ts: new Date(program.clock.now).toISOString(),
      },
    ])
    expect(events[0]!.payload).toEqual({ decision_id: id, event_seqs: [3, 1], has_outcome: false, stakes: 'high' })
    await call('reviewDecision', { decision_id: id, outcome: 'success' })
    await call('linkEvidence', { id, event_seqs: [2], stakes: 'high', has_outcome: true }, 'root')
    const { entries } = await call('listAudit', { method: 'cstp.linkEvidence' }, 'root')
    // A review is no change of what was decided.
    const content_sha256 = contentDigest((await readDecision(program.services.store.decisions, id))!.record)
    expect(entries.map(({ ids, detail }) => [ids, detail])).toEqual([
      [[id], { attested_seq: 5, event_seqs: [2], content_sha256 }],
      [[id], { attested_seq: 4, event_seqs: [3, 1], content_sha256 }],
    ])
    expect(await call('verifyEvidenceChain')).toMatchObject({ intact: true, records: 5 })
  })

  test('refuses what can’t be linked, and appends nothing', async () => {
    const program = await open()
    const id = await program.record({ stakes: 'high' })
    await ingest(program, event(), event())
    await program.call('linkEvidence', { decision_id: id, event_seqs: [1] }, 'root')
    const issue = async (params: object) => {
      const { code, data } = await program.refused(
        'linkEvidence',
        { decision_id: id, event_seqs: [1], ...params },
        'root',
      )
      expect(code).toBe(-32602)
      return (data as { issues: { path: string }[] }).issues[0]!.path
    }
    expect(await issue({ event_seqs: [] })).toBe('event_seqs')
    expect(await issue({ event_seqs: undefined })).toBe('event_seqs')
    expect(await issue({ event_seqs: 1 })).toBe('event_seqs')
    expect(await issue({ event_seqs: [1, '2'] })).toBe('event_seqs.1')
    expect(await issue({ event_seqs: [0] })).toBe('event_seqs.0')
    expect(await issue({ event_seqs: [1.5] })).toBe('event_seqs.0')
    expect(await issue({ event_seqs: [1, 2, 1] })).toBe('event_seqs.2')
    expect(await issue({ event_seqs: [1, 4] })).toBe('event_seqs.1')
    expect(await issue({ event_seqs: [3] })).toBe('event_seqs.0')
    expect(await issue({ stakes: 'low' })).toBe('stakes')
    expect(await issue({ stakes: 'enormous' })).toBe('stakes')
    expect(await issue({ has_outcome: true })).toBe('has_outcome')
    expect(await issue({ has_outcome: 'false' })).toBe('has_outcome')
    expect(await issue({ evidence_class: 'observed' })).toBe('evidence_class')
    const unknown = await program.refused(
      'linkEvidence',
      { decision_id: '2020-01-01-decision-000000000000', event_seqs: [1] },
      'root',
    )
    expect([unknown.code, unknown.data]).toEqual([-32007, { id: '2020-01-01-decision-000000000000' }])
    expect((await program.call('verifyEvidenceChain')).records).toBe(3)
  })
})
