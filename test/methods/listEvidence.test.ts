/** cstp.listEvidence: pages by number, type and class, on every store. */
import { expect, test } from 'bun:test'
import { ingest } from '../support/evidence/ingest.ts'
import { forEachBackend } from '../support/program.ts'
import { sharedText } from '../support/shared.ts'

const vectors = sharedText('spec/vectors.json')

forEachBackend((open) => {
  test.skipIf(vectors === null)('the observed vectors of the contract are reproduced exactly', async () => {
    const program = await open()
    const { records } = JSON.parse(vectors!).evidence_chain as { records: Record<string, unknown>[] }
    const observed = records.filter(({ evidence_class }) => evidence_class === 'observed')
    await ingest(program, ...observed.map(({ event_type, ts, payload }) => ({ event_type, ts, payload })))
    const { events } = await program.call('listEvidence')
    expect(events).toEqual(observed.map(({ preimage: _, ...record }) => record) as never)
  })
})
