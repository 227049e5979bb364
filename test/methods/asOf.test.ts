/** Answers about an earlier time, against what the service answered at that time; on every store. */
import { describe, expect, test } from 'bun:test'
import type { CstpError } from '../../sdk/errors.ts'
import { readDecisions } from '../../sdk/storage/decisions.ts'
import { stableJson } from '../../src/core/canonical.ts'
import { type As, forEachBackend, type TestProgram } from '../support/program.ts'
import * as fc from '../support/property.ts'

const minute = 60_000
const day = 86_400_000

const ruleSets = [
  '',
  'guardrails:\n  - { id: no-deploys, action: block, message: Not now, conditions: [{ type: field, field: category, operator: "=", value: deployment }] }\n',
  `guardrails:
  - id: failing
    action: block
    message: It fails too often
    conditions:
      - { type: aggregate, category: architecture, metric: success_rate, operator: "<", value: 0.5 }
`,
]

const kinds = [
  'record',
  'import',
  'update',
  'update',
  'review',
  'link',
  'link',
  'unlink',
  'preserve',
  'think',
  'rules',
] as const

/** One step of a history: what is done to which decision, and how long after the step before. */
interface Step {
  pass_ms: number
  what: (typeof kinds)[number]
  one: number
  other: number
  pick: number
  as: As
}

const step: fc.Arbitrary<Step> = fc.record({
  pass_ms: fc.constantFrom(0, 1, minute, day),
  what: fc.constantFrom(...kinds),
  one: fc.nat(2),
  other: fc.nat(1),
  pick: fc.nat(11),
  as: fc.constantFrom<As>('alice', 'root', 'root'),
})

const edgeTypes = ['relates_to', 'supersedes', 'contradicts']
const outcomes = ['success', 'failure', 'partial', 'abandoned']
const updates = [
  { confidence: 0.3 },
  { tags: ['b', 'c'] },
  { decision: 'Keep sessions in PostgreSQL' },
  { pattern: 'One place for each fact' },
  { bridge: { structure: 'a cache', function: 'fewer queries' } },
  { project: { name: 'acme/shop', pr: 7 } },
  { context: null, reasons: [{ type: 'risk', text: 'it is simpler' }] },
]

/** Does a step; what is refused, such as a circle of successors, changes nothing. */
async function take({ call, rules, record }: TestProgram, ids: string[], { what, one, other, pick, as }: Step) {
  // Most of it happens to the first three, with each other.
  const [source, target] = [ids[one]!, ids[(one + 1 + other) % 3]!]
  const given = { stakes: pick % 2 === 0 ? 'low' : 'high', tags: pick % 3 === 0 ? ['a'] : [], confidence: pick / 11 }
  if (what === 'record') {
    if (pick % 2 === 0) await call('recordThought', { text: 'What if it fails?' }, as)
    const project = pick % 4 === 1 ? 'acme/shop' : null
    ids.push(await record({ ...given, project, decision: `Use SQLite for part ${ids.length}` }, as))
  } else if (what === 'import')
    ids.push(await record({ ...given, created_at: '2026-06-30T00:00:00.000Z', source_key: `k${ids.length}` }, 'root'))
  else if (what === 'rules') await rules(ruleSets[pick % ruleSets.length]!)
  else {
    const link = { source_id: source, target_id: target, edge_type: edgeTypes[pick % edgeTypes.length] }
    const calls = {
      update: () => call('updateDecision', { id: source, updates: updates[pick % updates.length] }, as),
      review: () =>
        call(
          'reviewDecision',
          { id: source, outcome: outcomes[pick % 4], ...(pick > 5 && { lessons: `${pick}` }) },
          as,
        ),
      link: () => call('linkDecisions', { ...link, weight: pick / 11 }, as),
      unlink: () => call('unlinkDecisions', link, as),
      preserve: () => call('setPreserve', { id: source, preserve: pick % 2 === 0 }, as),
      think: () => call('recordThought', { text: 'In hindsight', decision_id: source }, as),
    }
    await calls[what]().catch(() => {})
  }
}

const reading = ['getDecision', 'getGraph', 'listDecisions', 'getStats', 'getCalibration', 'listGuardrails'] as const

const byId = (a: { id: string }, b: { id: string }): number => (a.id < b.id ? -1 : 1)

/** Everything that the service says, without what the moment of asking alone decides. */
async function answers({ call }: TestProgram, ids: readonly string[], at?: number) {
  const as_of = at === undefined ? {} : { as_of: new Date(at).toISOString() }
  const ask = async (name: (typeof reading)[number], params: object = {}) => {
    const answer = await call(name, { ...params, ...as_of }, 'reader').catch((error: CstpError) => error.message)
    if (typeof answer === 'string') return answer
    const { as_of: block, ...rest } = answer
    expect(block?.at).toBe(at === undefined ? undefined : new Date(at).toISOString())
    return stableJson(rest)
  }
  const found = await call(
    'queryDecisions',
    { query: 'sqlite', limit: 50, track: false, include_reasons: true, filters: { status: ['pending'] }, ...as_of },
    'reader',
  )
  const check = await call(
    'checkGuardrails',
    { action: { description: 'Ship it', category: 'deployment', stakes: 'low' }, dry_run: true, ...as_of },
    'reader',
  )
  const own = (id: string) => ask('getDecision', { id, revisions: true, track: false })
  return {
    records: await Promise.all(ids.map(own)),
    graphs: await Promise.all(ids.map((id) => ask('getGraph', { decision_id: id, depth: 2 }))),
    list: await ask('listDecisions', { sort: 'confidence' }),
    reviewed: await ask('listDecisions', { status: 'reviewed', tags: ['a', 'b'], limit: 2 }),
    stats: await ask('getStats'),
    own_stats: await ask('getStats', { project: 'acme/shop', date_from: '2026-07-01' }),
    calibration: await ask('getCalibration', { agent: 'alice', window: '30d' }),
    rules: await ask('listGuardrails'),
    // Ranked by the texts of today: only what is found, and how it is shown, is that of then.
    found: {
      total: found.total,
      hits: found.decisions.map(({ distance: _, ...hit }) => hit).sort(byId),
    },
    verdict: { ...check, record_id: null, evaluated_at: null, as_of: null },
  }
}

forEachBackend((open, store) => {
  describe('as_of', () => {
    test('is what was answered then, whatever came later', async () => {
      await fc.assert(
        fc.asyncProperty(fc.array(step, { minLength: 6, maxLength: 16 }), async (steps) => {
          const program = await open()
          await program.rules('')
          const ids = [await program.record({}), await program.record({}, 'bob'), await program.record()]
          const told = new Map<number, Awaited<ReturnType<typeof answers>>>()
          for (const one of steps) {
            program.clock.now += one.pass_ms
            await take(program, ids, one)
            told.set(program.clock.now, await answers(program, ids))
          }
          expect(await answers(program, ids, program.clock.now)).toEqual(told.get(program.clock.now)!)
          program.clock.now += day
          for (const [at, then] of told)
            expect(await answers(program, ids.slice(0, then.records.length), at)).toEqual(then)
        }),
        { numRuns: { memory: 12, sqlite: 5 }[store] ?? 2, endOnFailure: true },
      )
    })

    test('knows more states of a decision than the last 200', async () => {
      const program = await open()
      const { call, clock } = program
      const id = await program.record({ tags: ['0'] })
      const told: string[] = []
      const ask = async (as_of?: string) => {
        const { as_of: block, ...rest } = await call('getDecision', { id, track: false, ...(as_of && { as_of }) })
        expect(block?.limits ?? []).toEqual([])
        return stableJson(rest)
      }
      for (let count = 1; count <= 230; count++) {
        told.push(await ask())
        clock.now += minute
        await call('updateDecision', { id, updates: { tags: [`${count}`] } })
      }
      for (const count of [0, 1, 2, 28, 29, 30, 31, 128, 200, 228, 229])
        expect(await ask(new Date(clock.now - (230 - count) * minute).toISOString())).toBe(told[count]!)
    })

    const later = (program: TestProgram, ms = minute): string => {
      const at = new Date(program.clock.now).toISOString()
      program.clock.now += ms
      return at
    }

    test('is a time that has come, and of a check only in a dry run', async () => {
      const program = await open()
      const { call, refused, rules, clock } = program
      await rules('')
      const ahead = new Date(clock.now + 1).toISOString()
      for (const name of reading) {
        const one = name === 'getDecision' || name === 'getGraph'
        const known = { ...(one && { id: 'x'.repeat(8) }), as_of: ahead }
        const error = await refused(name, known, 'reader')
        expect([name, error.code, error.message]).toEqual([name, -32602, expect.stringContaining('as_of')])
      }
      for (const as_of of ['2026-07-01', 'yesterday', '2026-02-31T00:00:00Z'])
        expect((await refused('getStats', { as_of })).message).toContain('as_of')
      const action = { description: 'Ship it', category: 'deployment' }
      const as_of = later(program)
      expect((await refused('checkGuardrails', { action, as_of })).data).toMatchObject({ issues: [{ path: 'as_of' }] })
      expect(await call('checkGuardrails', { action, as_of, dry_run: true })).toMatchObject({ as_of: { at: as_of } })
    })

    test('never has what nobody could read then, however slow the embedder is', async () => {
      const program = await open()
      const { call, record, services } = program
      const id = await record()
      const action = { description: 'Use SQLite for the queue', category: 'tooling' }
      const { embed } = services.embedder
      const writes = [
        () => record({ decision: 'Use PostgreSQL for the queue' }),
        () => record({ decision: 'Use files for the queue', created_at: '2026-06-01T00:00:00Z' }, 'root'),
        () => call('updateDecision', { id, updates: { decision: 'Use LanceDB for the vectors' } }),
        () => call('preAction', { action, options: { auto_record: true } }),
      ]
      for (const write of writes) {
        const then: { as_of: string; answers: string }[] = []
        const answers = async (as_of: string) =>
          stableJson([
            (await call('listDecisions', { as_of })).decisions,
            (await call('getStats', { as_of })).by_category,
            (await call('getDecision', { id, as_of })).decision,
          ])
        services.embedder.embed = async (...given) => {
          const as_of = later(program)
          then.push({ as_of, answers: await answers(as_of) })
          later(program)
          return embed(...given)
        }
        await write()
        services.embedder.embed = embed
        expect(then).not.toEqual([])
        for (const one of then) expect(await answers(one.as_of)).toBe(one.answers)
      }
    })

    test('waits for what is being committed at that time', async () => {
      const { call, record, services, clock } = await open()
      const id = await record()
      const as_of = new Date(++clock.now).toISOString()
      let asked: Promise<string> | undefined
      const states = async () => JSON.stringify((await call('listDecisions', { as_of })).decisions)
      await services.store.transaction(async (tx) => {
        const [found] = await readDecisions(tx.decisions, [id])
        await tx.decisions.put({ ...found!.record, title: 'Another', updated_at: as_of }, found!.revision)
        clock.now++
        asked = states()
        await Bun.sleep(20)
      })
      expect(await asked).toContain('Another')
      expect(await asked).toBe(await states())
    })

    test('says what is not known of then', async () => {
      const program = await open()
      const { call, record } = program
      const id = await record({ decision: 'Use SQLite for the queue' })
      const as_of = later(program)
      const imported = await record({ created_at: '2026-06-01T00:00:00Z' }, 'root')
      await call('updateDecision', { id, updates: { decision: 'Use PostgreSQL for the queue' } })
      const query = { query: 'postgresql queue', retrieval_mode: 'keyword' } as const
      const found = await call('queryDecisions', { ...query, as_of })
      expect(found.decisions).toMatchObject([{ id, title: 'Use SQLite for the queue' }])
      expect(found.total).toBe(1)
      expect(found.as_of?.limits).toContainEqual(expect.objectContaining({ limit: 'text_changed_since', ids: [id] }))
      const unchanged = await call('queryDecisions', { ...query, as_of: later(program) })
      expect(unchanged.as_of?.limits).toEqual([
        { limit: 'current_statistics', message: 'Scores use the word statistics of today', ids: [] },
      ])
      const listed = await call('listDecisions', { as_of })
      expect(listed.decisions.map((one) => one.id)).toEqual([id])
      expect(listed.as_of?.limits).toMatchObject([{ limit: 'imported_since', ids: [imported] }])
      expect((await call('getDecision', { id, as_of })).as_of).toEqual({ at: as_of, limits: [] })
    })

    test('does not know what was erased, and keeps nothing of it', async () => {
      const program = await open()
      const { call, refused, record, store } = program
      const [id, other] = [await record(), await record()]
      const link = { source_id: id, target_id: other, edge_type: 'relates_to' }
      await call('linkDecisions', { ...link, context: 'The codename is Nightingale' })
      const as_of = later(program)
      await call('unlinkDecisions', link)
      await call('eraseDecision', { id: other, basis: 'GDPR Art. 17', reason: 'asked for' }, 'root')
      const states = async () =>
        (await store.thread.read({ record_ids: [1, 2, 3, 4].map((number) => `${id}@${number}`) })).map(
          (act) => act.payload,
        )
      expect(JSON.stringify(await states())).not.toContain('Nightingale')
      const limit = { limit: 'erased', ids: [other] }
      // The state with the link was erased with the decision that it names.
      const unknown = { limit: 'old_values_dropped', ids: [id] }
      expect(await call('listDecisions', { as_of })).toMatchObject({ total: 1, as_of: { limits: [limit, unknown] } })
      expect((await call('queryDecisions', { query: 'sqlite', as_of })).as_of?.limits).toContainEqual(
        expect.objectContaining(limit),
      )
      expect((await refused('getDecision', { id: other, as_of })).message).toContain('erased')
      await call('eraseDecision', { id, basis: 'GDPR Art. 17', reason: 'asked for' }, 'root')
      expect((await states()).filter((payload) => payload !== null)).toEqual([])
    })
  })
})
