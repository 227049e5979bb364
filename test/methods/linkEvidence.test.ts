/** cstp.linkEvidence: a decision attests events with its own stakes and state, on every store. */

import { expect, test } from 'bun:test'
import { event, ingest } from '../support/evidence/ingest.ts'
import { forEachBackend } from '../support/program.ts'

forEachBackend((open) => {
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
    expect(await issue({ event_seqs: [1, '2'] })).toBe('event_seqs.1')
    expect(await issue({ event_seqs: [0] })).toBe('event_seqs.0')
    expect(await issue({ event_seqs: [1.5] })).toBe('event_seqs.0')
    expect(await issue({ event_seqs: [3] })).toBe('event_seqs.0')
    expect(await issue({ stakes: 'low' })).toBe('stakes')
    expect(await issue({ stakes: 'enormous' })).toBe('stakes')
    expect(await issue({ has_outcome: true })).toBe('has_outcome')
    expect(await issue({ has_outcome: 'false' })).toBe('has_outcome')
    expect(await issue({ evidence_class: 'observed' })).toBe('evidence_class')
    expect((await program.call('verifyEvidenceChain')).records).toBe(3)
  })
})
