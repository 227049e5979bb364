/** ingestEvidence, linkEvidence, verifyEvidenceChain and listEvidence: the chain as callers see it, on every store. */
import { describe, expect, test } from 'bun:test'
import { StorageError } from '../../sdk/storage/errors.ts'
import { noHash } from '../../sdk/storage/evidence-checks.ts'
import { append } from '../support/evidence/log.ts'
import { forEachBackend, type TestProgram } from '../support/program.ts'
import { sharedText } from '../support/shared.ts'

const ts = '2026-07-01T10:00:00Z'
const event = (payload: object = { pr_number: 42 }, more: object = {}) => ({
  event_type: 'pr_opened',
  ts,
  payload,
  ...more,
})
const ingest = ({ call }: TestProgram, ...events: object[]) =>
  call('ingestEvidence', { source: 'github', events }, 'root')
const nested = (levels: number): unknown => JSON.parse('['.repeat(levels) + ']'.repeat(levels))
const vectors = sharedText('spec/vectors.json')

forEachBackend((open) => {
  test('an empty chain is intact, without a check of its tail', async () => {
    const { call } = await open()
    expect(await call('verifyEvidenceChain')).toEqual({
      intact: true,
      broken_at_seq: null,
      head_hash: noHash,
      expected_hash: null,
      tail_check: false,
      reason: null,
      records: 0,
    })
    expect(await call('listEvidence')).toEqual({ events: [], next_seq: null })
  })

  describe('ingestEvidence', () => {
    test('appends a batch in order, canonical, observed, and leaves an audit row', async () => {
      const program = await open()
      const { call } = program
      const first = await ingest(
        program,
        event({ b: 1, a: 'Zoë', __proto__x: null }),
        event({}, { ts: '1990-12-31T15:59:60-08:00' }),
      )
      expect(first).toMatchObject({ ingested: 2, first_seq: 1 })
      const second = await call('ingestEvidence', { source: 'ci', events: [event()] }, 'root')
      expect(second).toMatchObject({ ingested: 1, first_seq: 3 })
      const { events } = await call('listEvidence', {}, 'reader')
      expect(events.map(({ source, evidence_class }) => [source, evidence_class])).toEqual([
        ['github', 'observed'],
        ['github', 'observed'],
        ['ci', 'observed'],
      ])
      expect(events[0]!.payload).toEqual({ a: 'Zoë', b: 1, __proto__x: null })
      expect(events[1]!.ts).toBe('1990-12-31T15:59:60-08:00')
      expect(events.map(({ prev_hash }) => prev_hash)).toEqual([noHash, events[0]!.hash, events[1]!.hash])
      expect([events[1]!.hash, events[2]!.hash]).toEqual([first.head_hash, second.head_hash])
      const { entries } = await call('listAudit', { method: 'cstp.ingestEvidence' }, 'root')
      expect(entries.map(({ agent, detail }) => ({ agent, detail }))).toEqual([
        { agent: 'root', detail: { source: 'ci', ...second } },
        { agent: 'root', detail: { source: 'github', ...first } },
      ])
    })

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

    test('wrong-typed fields of a payload are no error: they are what was observed', async () => {
      const program = await open()
      expect(await ingest(program, event({ approval_count: '3', actor_is_human: 'yes' }))).toMatchObject({
        ingested: 1,
      })
    })

    test.each<[string, object, string]>([
      ['no source', { source: undefined }, 'source'],
      ['an empty source', { source: '' }, 'source'],
      ['a blank source', { source: ' \t' }, 'source'],
      ['a source that is no text', { source: 7 }, 'source'],
      ['a reserved source', { source: 'cstp:alice' }, 'source'],
      ['another reserved source', { source: 'webhook:github' }, 'source'],
      ['a reserved source in disguise', { source: ' CSTP:alice' }, 'source'],
      ['one with a character that is not seen', { source: '\u200bweb\u00adhook:github' }, 'source'],
      ['one in wide letters', { source: 'webhook\uff1agithub' }, 'source'],
      ['one with a space in it', { source: 'cstp :alice' }, 'source'],
      ['a lone surrogate in the source', { source: 'a\ud800' }, 'source'],
      ['no events', { events: [] }, 'events'],
      ['events that are no list', { events: event() }, 'events'],
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

  describe('linkEvidence', () => {
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
      expect(entries.map(({ ids, detail }) => [ids, detail])).toEqual([
        [[id], { attested_seq: 5, event_seqs: [2] }],
        [[id], { attested_seq: 4, event_seqs: [3, 1] }],
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

  describe('verifyEvidenceChain', () => {
    test('a hash that stands anywhere in the chain passes, one that stands nowhere is a tail cut off', async () => {
      const program = await open()
      const { call } = program
      const first = await ingest(program, event())
      const last = await ingest(program, event(), event())
      const verify = (expected_head_hash: string | null) => call('verifyEvidenceChain', { expected_head_hash })
      for (const hash of [first.head_hash, last.head_hash, noHash])
        expect(await verify(hash)).toEqual({
          intact: true,
          broken_at_seq: null,
          head_hash: last.head_hash,
          expected_hash: hash,
          tail_check: true,
          reason: null,
          records: 3,
        })
      expect(await verify('f'.repeat(64))).toMatchObject({
        intact: false,
        broken_at_seq: null,
        head_hash: last.head_hash,
        expected_hash: 'f'.repeat(64),
        tail_check: true,
        reason: expect.stringContaining('cut off'),
      })
      expect(await verify(null)).toMatchObject({ intact: true, tail_check: false })
      for (const expected_head_hash of ['abc', 'F'.repeat(64), 7, `${'0'.repeat(63)}g`])
        expect((await program.refused('verifyEvidenceChain', { expected_head_hash })).code).toBe(-32602)
    })

    test('the head of the latest export is expected by default, and every other one too', async () => {
      const program = await open()
      const { evidence } = program.services
      const first = await ingest(program, event())
      const second = await ingest(program, event())
      const save = (size: number, head_hash: string) =>
        evidence.saveCheckpoint({ size, head_hash, note: '', created_at: ts, exported: true })
      await save(0, noHash)
      expect(await program.call('verifyEvidenceChain')).toMatchObject({ intact: true, expected_hash: noHash })
      await save(2, second.head_hash)
      await save(1, first.head_hash)
      await ingest(program, event())
      expect(await program.call('verifyEvidenceChain')).toMatchObject({
        intact: true,
        expected_hash: first.head_hash,
        tail_check: true,
      })
      await save(2, first.head_hash)
      await save(1, first.head_hash)
      expect(await program.call('verifyEvidenceChain')).toMatchObject({
        intact: false,
        broken_at_seq: null,
        reason: expect.stringContaining('rewritten'),
      })
      const refused = await program.refused('ingestEvidence', { source: 's', events: [event()] }, 'root')
      expect([refused.code, refused.data]).toMatchObject([-32603, { kind: 'corrupt', broken_at_seq: null }])
    })
  })

  describe('getVerification', () => {
    const idle = { running: false, records: null, total: null, started_at: null }

    test('tells how far the walk is, then what it found', async () => {
      const program = await open()
      const { call, clock, services } = program
      const { evidence } = services
      expect(await call('getVerification')).toEqual({ ...idle, latest: null })
      await append(evidence, 5_000)
      const [reached, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
      const read = evidence.read
      // The walk stops where its second piece begins.
      evidence.read = async (from, limit) => {
        if (from <= 4_096) return read(from, limit)
        reached.resolve()
        await released.promise
        return read(from, limit)
      }
      const verified = call('verifyEvidenceChain')
      await reached.promise
      const started_at = new Date(clock.now).toISOString()
      clock.now += 1_500
      const half = { running: true, records: 4_096, total: 5_000, started_at, latest: null }
      expect(await call('getVerification', {}, 'reader')).toEqual(half)
      released.resolve()
      await verified
      const latest = { intact: true, broken_at_seq: null, reason: null, records: 5_000, started_at }
      const finished_at = new Date(clock.now).toISOString()
      expect(await call('getVerification')).toEqual({ ...idle, latest: { ...latest, finished_at } })
      expect((await program.refused('getVerification', { records: 1 })).code).toBe(-32602)
    })

    test('a walk that fails is not under way for ever, and what was found before stays', async () => {
      const program = await open()
      const { evidence } = program.services
      await ingest(program, event())
      const before = await program.call('getVerification')
      const read = evidence.read
      evidence.read = async () => {
        throw new StorageError('unavailable', 'the disk is away')
      }
      await program.refused('verifyEvidenceChain')
      evidence.read = read
      expect(await program.call('getVerification')).toEqual(before)
    })

    test('damage that was found is told', async () => {
      const program = await open()
      await ingest(program, event())
      await program.services.evidence.saveCheckpoint({
        size: 1,
        head_hash: 'a'.repeat(64),
        note: '',
        created_at: ts,
        exported: false,
      })
      const { reason } = await program.call('verifyEvidenceChain')
      expect((await program.call('getVerification')).latest).toMatchObject({
        intact: false,
        broken_at_seq: null,
        reason,
      })
    })
  })

  describe('listEvidence', () => {
    test('pages by number, type and class', async () => {
      const program = await open()
      const { call } = program
      const events = Array.from({ length: 25 }, (_, index) => event({ index }, { event_type: index % 5 ? 'a' : 'b' }))
      await ingest(program, ...events)
      await call('linkEvidence', { decision_id: await program.record(), event_seqs: [1] }, 'root')
      const seqs = async (params: object) => {
        const found: number[] = []
        for (let seq_from = 1; ; ) {
          const page = await call('listEvidence', { seq_from, limit: 4, ...params })
          found.push(...page.events.map(({ seq }) => seq))
          if (page.next_seq === null) return found
          expect(page.events).toHaveLength(4)
          seq_from = page.next_seq
        }
      }
      const all = Array.from({ length: 26 }, (_, index) => index + 1)
      expect(await seqs({})).toEqual(all)
      expect(await seqs({ limit: 4, seq_to: 8 })).toEqual(all.slice(0, 8))
      expect(await seqs({ event_type: 'b' })).toEqual([1, 6, 11, 16, 21])
      expect(await seqs({ evidence_class: 'observed', seq_to: 9 })).toEqual(all.slice(0, 9))
      expect(await seqs({ evidence_class: 'attested' })).toEqual([26])
      expect(await call('listEvidence', { seq_from: 10, seq_to: 9 })).toEqual({ events: [], next_seq: null })
      expect(await call('listEvidence', { seq_from: 27 })).toEqual({ events: [], next_seq: null })
      for (const params of [{ seq_from: 0 }, { limit: 501 }, { evidence_class: 'x' }, { class: 'observed' }])
        expect((await program.refused('listEvidence', params)).code).toBe(-32602)
    })
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
