/** cstp.listEvidence: pages by number, type and class, on every store. */
import { expect, test } from 'bun:test'
import { event, ingest } from '../support/evidence/ingest.ts'
import { forEachBackend } from '../support/program.ts'
import { sharedText } from '../support/shared.ts'

const vectors = sharedText('spec/vectors.json')

forEachBackend((open) => {
  test('of an empty chain is empty', async () => {
    const { call } = await open()
    expect(await call('listEvidence')).toEqual({ events: [], next_seq: null })
  })

  test('pages by number, type and class', async () => {
    const program = await open()
    const { call } = program
    const events = Array.from({ length: 25 }, (_, index) => event({ index }, { event_type: index % 5 ? 'a' : 'b' }))
    await ingest(program, ...events)
    await call('linkEvidence', { decision_id: await program.record(), event_seqs: [1] }, 'root')
    const seqs = async (params: { order?: 'desc'; [name: string]: unknown }) => {
      const found: number[] = []
      for (let position = {}; ; ) {
        const page = await call('listEvidence', { limit: 4, ...params, ...position })
        found.push(...page.events.map(({ seq }) => seq))
        if (page.next_seq === null) return found
        expect(page.events).toHaveLength(4)
        position = { [params.order === 'desc' ? 'seq_to' : 'seq_from']: page.next_seq }
      }
    }
    const all = Array.from({ length: 26 }, (_, index) => index + 1)
    expect(await seqs({})).toEqual(all)
    expect(await seqs({ limit: 4, seq_to: 8 })).toEqual(all.slice(0, 8))
    expect(await seqs({ event_type: 'b' })).toEqual([1, 6, 11, 16, 21])
    expect(await seqs({ evidence_class: 'observed', seq_to: 9 })).toEqual(all.slice(0, 9))
    expect(await seqs({ evidence_class: 'attested' })).toEqual([26])
    const newest = { order: 'desc' } as const
    expect(await seqs(newest)).toEqual(all.toReversed())
    expect(await seqs({ ...newest, seq_from: 3, seq_to: 12 })).toEqual(all.slice(2, 12).toReversed())
    expect(await seqs({ ...newest, event_type: 'b' })).toEqual([21, 16, 11, 6, 1])
    expect(await seqs({ ...newest, evidence_class: 'attested' })).toEqual([26])
    expect((await call('listEvidence', { ...newest, seq_from: 27 })).events).toEqual([])
    expect(await call('listEvidence', { seq_from: 10, seq_to: 9 })).toEqual({ events: [], next_seq: null })
    expect(await call('listEvidence', { seq_from: 27 })).toEqual({ events: [], next_seq: null })
    for (const params of [
      { seq_from: 0 },
      { limit: 501 },
      { evidence_class: 'x' },
      { class: 'observed' },
      { order: 'newest' },
    ])
      expect((await program.refused('listEvidence', params)).code).toBe(-32602)
  })

  test.skipIf(vectors === null)('the observed vectors of the contract come out as they stand there', async () => {
    const program = await open()
    const { records } = JSON.parse(vectors!).evidence_chain as { records: Record<string, unknown>[] }
    const observed = records.filter(({ evidence_class }) => evidence_class === 'observed')
    await ingest(program, ...observed.map(({ event_type, ts, payload }) => ({ event_type, ts, payload })))
    const { events } = await program.call('listEvidence')
    expect(events).toEqual(observed.map(({ preimage: _, ...record }) => record) as never)
  })
})
