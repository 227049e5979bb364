/** cstp.mapControls: the controls that the evidence supports, and where it is insufficient, on every store. */
import { expect, test } from 'bun:test'
import { event, ingest } from '../support/evidence/ingest.ts'
import { forEachBackend } from '../support/program.ts'

forEachBackend((open) => {
  test('of no evidence maps nothing', async () => {
    const { call } = await open()
    expect(await call('mapControls')).toMatchObject({
      mappings: [],
      insufficient_evidence: [],
      insufficient_evidence_count: 0,
      unmapped: [],
      attested_only_controls: [],
    })
  })

  test('maps events, tells of shortfalls and of what no rule knows', async () => {
    const program = await open()
    const merged = (human_approval_count: number) =>
      event({ pr_number: 7, human_approval_count, approval_count: 1 }, { event_type: 'pr_merged' })
    await ingest(program, merged(1), merged(0), event({}, { event_type: 'coffee_made' }))
    const found = await program.call('mapControls')
    expect(found.mappings.map(({ seq }) => seq)).toContain(1)
    expect(found.insufficient_evidence.map(({ seq }) => seq)).toContain(2)
    expect(found.insufficient_evidence_count).toBe(found.insufficient_evidence.length)
    expect(found.unmapped.map(({ seq }) => seq)).toEqual([2, 3])
    expect(await program.call('mapControls', {}, 'reader')).toEqual(found)
  })

  test('takes no parameters, and needs the scope read', async () => {
    const { refused } = await open()
    expect((await refused('mapControls', { seq: 1 })).error).toBe('invalid_params')
    expect((await refused('mapControls', {}, 'writer')).error).toBe('forbidden')
  })
})
