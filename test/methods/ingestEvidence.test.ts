/** cstp.ingestEvidence: what is appended, what is refused, and how much, on every store. */
import { expect, test } from 'bun:test'
import { event, ingest, ts } from '../support/evidence/ingest.ts'
import { forEachBackend } from '../support/program.ts'

const nested = (levels: number): unknown => JSON.parse('['.repeat(levels) + ']'.repeat(levels))

forEachBackend((open) => {
  test('takes camelCase for its own names, and leaves a payload as it is', async () => {
    const program = await open()
    const payload = JSON.parse('{"prNumber":1,"pr_number":2,"__proto__":{"x":1},"constructor":[],"eventType":"x"}')
    await ingest(program, { eventType: 'pr_opened', ts, payload })
    const [record] = (await program.call('listEvidence')).events
    expect(record!.event_type).toBe('pr_opened')
    expect(JSON.stringify(record!.payload)).toBe(
      '{"__proto__":{"x":1},"constructor":[],"eventType":"x","prNumber":1,"pr_number":2}',
    )
  })

  test.each<[string, object, string]>([
    ['no source', { source: undefined }, 'source'],
    ['an empty source', { source: '' }, 'source'],
    ['a blank source', { source: ' \t' }, 'source'],
    ['a source that is not text', { source: 7 }, 'source'],
    ['a reserved source', { source: 'cstp:alice' }, 'source'],
    ['another reserved source', { source: 'webhook:github' }, 'source'],
    ['a reserved source in disguise', { source: ' CSTP:alice' }, 'source'],
    ['one with a character that is not seen', { source: '\u200bweb\u00adhook:github' }, 'source'],
    ['one in wide letters', { source: 'webhook\uff1agithub' }, 'source'],
    ['one with a space in it', { source: 'cstp :alice' }, 'source'],
    ['Cyrillic letters in a reserved source', { source: 'w\u0435bh\u043e\u043ek:github' }, 'source'],
    ['a reserved source all in Cyrillic and Greek', { source: '\u0441\u0455\u0442\u0440:alice' }, 'source'],
    ['Greek letters in a reserved source', { source: 'webh\u03bf\u03bfk:github' }, 'source'],
    ['small capitals', { source: '\u1d21\u1d07\u0299\u029c\u1d0f\u1d0f\u1d0b:github' }, 'source'],
    ['another mark for the colon', { source: 'webhook\u2236github' }, 'source'],
    ['a letter that looks like a colon', { source: 'cstp\ua789alice' }, 'source'],
    ['a mixture that looks like another source', { source: 'g\u0456thub' }, 'source'],
    ['a lone surrogate in the source', { source: 'a\ud800' }, 'source'],
    ['no events', { events: [] }, 'events'],
    ['events that are not a list', { events: event() }, 'events'],
    ['10 001 events', { events: Array.from({ length: 10_001 }, () => event()) }, 'events'],
    ['an event that is none', { events: [event(), 7] }, 'events.1'],
    ['a class', { events: [event({}, { evidence_class: 'attested' })] }, 'events.0.evidence_class'],
    ['an observed class', { events: [event({}, { evidenceClass: 'observed' })] }, 'events.0.evidenceClass'],
    ['an unknown field', { events: [event({}, { seq: 1 })] }, 'events.0.seq'],
    ['an empty type', { events: [event({}, { event_type: '' })] }, 'events.0.event_type'],
    ['no type', { events: [event({}, { event_type: undefined })] }, 'events.0.event_type'],
    ['no instant', { events: [event({}, { ts: '2026-07-01' })] }, 'events.0.ts'],
    ['a day that does not exist', { events: [event(), event({}, { ts: '2026-02-30T00:00:00Z' })] }, 'events.1.ts'],
    ['a number as instant', { events: [event({}, { ts: 1_700_000_000 })] }, 'events.0.ts'],
    ['no payload', { events: [event({}, { payload: undefined })] }, 'events.0.payload'],
    ['a null payload', { events: [event({}, { payload: null })] }, 'events.0.payload'],
    ['a list as payload', { events: [event([])] }, 'events.0.payload'],
    ['2^53', { events: [event(), event(), event(), event({ x: 2 ** 53 })] }, 'events.3.payload.x'],
    ['−2^53 within', { events: [event({ a: [{ b: -(2 ** 53) }] })] }, 'events.0.payload.a.0.b'],
    ['a huge number', { events: [event({ x: 1e300 })] }, 'events.0.payload.x'],
    ['infinity', { events: [event({ x: JSON.parse('1e999') })] }, 'events.0.payload.x'],
    ['NaN', { events: [event({ x: Number.NaN })] }, 'events.0.payload.x'],
    ['a lone surrogate', { events: [event({ x: ['\udc00'] })] }, 'events.0.payload.x.0'],
    ['a lone surrogate in a key', { events: [event({ '\ud800': 1 })] }, 'events.0.payload.\ufffd'],
    ['a payload of many levels', { events: [event({ x: nested(200) })] }, `events.0.payload.x${'.0'.repeat(60)}`],
  ])('%s is refused by name, and nothing is appended', async (_, given, path) => {
    const { call, refused } = await open()
    const error = await refused('ingestEvidence', { source: 'github', events: [event()], ...given }, 'root')
    expect(error.code).toBe(-32602)
    const { issues } = error.data as { issues: { path: string; expected: string }[] }
    expect(issues[0]!.path.startsWith(path.slice(0, 90))).toBe(true)
    expect(issues[0]!.expected.length).toBeGreaterThan(3)
    expect((await call('listEvidence')).events).toEqual([])
  })

  test('16 MiB is the most', async () => {
    const program = await open()
    const big = event({ text: 'é'.repeat(524_288) })
    const fits = Array.from({ length: 15 }, () => big)
    const error = await program.refused('ingestEvidence', { source: 's', events: [...fits, big] }, 'root')
    expect(error.data).toMatchObject({ issues: [{ path: 'events' }] })
    expect((await program.call('verifyEvidenceChain')).records).toBe(0)
    expect(await ingest(program, ...fits)).toMatchObject({ ingested: 15 })
    expect(await program.call('verifyEvidenceChain')).toMatchObject({ intact: true, records: 15 })
  })

  test('10 000 events are one batch', async () => {
    const program = await open()
    const events = Array.from({ length: 10_000 }, (_, pr_number) => event({ pr_number }))
    expect(await ingest(program, ...events)).toMatchObject({ ingested: 10_000, first_seq: 1 })
    expect(await program.call('verifyEvidenceChain')).toMatchObject({ intact: true, records: 10_000 })
  })

  test('two servers at once form one chain', async () => {
    const program = await open()
    const other = await program.second()
    await Promise.all(
      Array.from({ length: 60 }, (_, index) => ingest(index % 2 ? program : other, event({ index }), event())),
    )
    for (const one of [program, other])
      expect(await one.call('verifyEvidenceChain')).toMatchObject({ intact: true, records: 120 })
  })

  test('an audit row that can’t be written does not undo what stands', async () => {
    const program = await open()
    const { store } = program.services
    const away = () => Promise.reject(new Error('away'))
    const lines: unknown[] = []
    Object.assign(store, { transaction: away })
    const { log } = program.services
    Object.assign(program.services, { log: Object.assign((...line: unknown[]) => lines.push(line), { flush() {} }) })
    expect(await ingest(program, event())).toMatchObject({ ingested: 1 })
    Object.assign(program.services, { log })
    expect((await program.call('listEvidence')).events).toHaveLength(1)
  })
})
