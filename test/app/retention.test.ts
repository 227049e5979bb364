/** Retention: what is over goes by itself, on every store, and leaves a line that says so. */

import { expect, test } from 'bun:test'
import { readDecisions } from '../../sdk/storage/decisions.ts'
import { startRetention } from '../../src/app/retention.ts'
import { parseRetention, type RetentionRule } from '../../src/domain/erasure/retention-rules.ts'
import { linkMethod } from '../../src/domain/ledger/evidence/content.ts'
import { hookCollections } from '../../src/domain/record/hook-records.ts'
import { openHooks } from '../support/hooks.ts'
import { forEachBackend, memoryProgram, type TestProgram } from '../support/program.ts'

const dayMs = 86_400_000

/** The rules of a file. */
function rulesOf(text: string): RetentionRule[] {
  const parsed = parseRetention(text, 'retention.yaml')
  if ('problems' in parsed) throw new Error(parsed.problems.join('\n'))
  return parsed.rules
}

/** Starts it with timers that the test runs. */
function started({ services }: TestProgram, retention: RetentionRule[]) {
  const timers: { ms: number; run: () => void }[] = []
  const failures: unknown[] = []
  const rounds = startRetention({
    ...services,
    retention,
    after: (ms, run) => {
      timers.push({ ms, run })
      return () => void timers.splice(0)
    },
    failed: (error) => failures.push(error),
  })
  return { rounds, timers, failures }
}

forEachBackend((open) => {
  test('lines of the trail go after their days, but for digests of links; the sweep repeats by itself until it is closed', async () => {
    const program = await open()
    const { store, clock } = program
    const check = () => program.call('checkGuardrails', { action: { description: 'Do it' } })
    await check()
    const link = { agent: 'root', method: linkMethod, request_id: 'l', ids: [], allowed: null, rules: [], detail: null }
    await store.transaction((tx) => tx.append({ audit: [{ ...link, at: new Date(clock.now).toISOString() }] }))
    const { rounds, timers, failures } = started(
      program,
      rulesOf('retention: [{ kind: audit, at_most: 30d, basis: House rule }]'),
    )
    const methods = async () => (await store.audit.list({ limit: 9 })).map(({ method }) => method)
    clock.now += 30 * dayMs
    await check()
    expect(await rounds.drain()).toBe(0)
    clock.now += 1
    expect(timers.map(({ ms }) => ms)).toEqual([0])
    timers.shift()!.run()
    while (timers.length === 0) await Bun.sleep(1)
    expect(timers.map(({ ms }) => ms)).toEqual([3_600_000])
    expect(await methods()).toEqual(['audit.retention', 'cstp.checkGuardrails', linkMethod])
    const [line] = (await program.call('listAudit', { method: 'audit.retention' }, 'root')).entries
    const before = new Date(clock.now - 30 * dayMs).toISOString()
    expect(line).toMatchObject({ agent: 'cstp', allowed: null, detail: { removed: 1, before } })
    clock.now += 365 * dayMs
    expect(await rounds.drain()).toBe(1)
    expect(await methods()).toEqual(['audit.retention', 'audit.retention', linkMethod])
    await rounds.close()
    expect([timers, failures]).toEqual([[], []])
  })

  test('decisions that are over are erased, the strictest rule first; a legal hold and a longer rule keep theirs', async () => {
    const program = await open()
    const { call, record, clock, store } = program
    const rules = rulesOf(`retention:
      - { kind: decision, category: delivery, at_most: 30d, basis: Contract 4.2 }
      - { kind: decision, at_most: 60d, basis: House rule }
      - { kind: decision, category: architecture, at_least: 50d, basis: Audit plan }`)
    const over = await record({ category: 'delivery', decision: 'Deliver on Monday' })
    const held = await record({ category: 'delivery', decision: 'Deliver on Tuesday' })
    const kept = await record({ category: 'architecture', decision: 'Use a queue' })
    await call('setHold', { id: held, on: true, reason: 'Claim 12' }, 'curator')
    await call('setPreserve', { decision_id: over })
    const { rounds } = started(program, rules)
    const left = async () => (await call('listDecisions')).decisions.map(({ id }) => id).sort()
    clock.now += 30 * dayMs
    expect(await rounds.drain()).toBe(0)
    clock.now += 1
    expect(await rounds.drain()).toBe(1)
    expect(await left()).toEqual([held, kept].sort())
    const [line] = await store.audit.list({ limit: 1, method: 'retention' })
    expect(line).toMatchObject({ agent: 'cstp', ids: [over], detail: { basis: 'Contract 4.2' } })
    clock.now += 31 * dayMs
    expect(await rounds.drain()).toBe(1)
    expect(await left()).toEqual([held])
    await rounds.close()
  })

  test('tool calls and sessions of hooks go after their days', async () => {
    const program = await open()
    const { clock, store } = program
    const hooks = openHooks(program)
    await hooks.event('SessionStart', { source: 'startup' })
    await hooks.bash('ls')
    const { rounds } = started(
      program,
      rulesOf(`retention:
        - { kind: action, at_most: 2d, basis: x }
        - { kind: session, at_most: 4d, basis: x }`),
    )
    const counts = () =>
      Promise.all(
        [hookCollections.action, hookCollections.session, hookCollections.start].map(
          async (collection) => (await store.keyed.list(collection, { limit: 9 })).length,
        ),
      )
    clock.now += 2 * dayMs
    expect([await rounds.drain(), await counts()]).toEqual([0, [1, 1, 1]])
    clock.now += 1
    expect([await rounds.drain(), await counts()]).toEqual([1, [0, 1, 1]])
    clock.now += 2 * dayMs
    expect([await rounds.drain(), await counts()]).toEqual([1, [0, 0, 0]])
    await rounds.close()
  })

  test('what a rule keeps is erased before its time only on a ground that the rule names', async () => {
    const program = await open()
    const { call, refused, record, clock, services } = program
    const text = `retention:
      - { kind: decision, stakes: [high, critical], at_least: 90d, basis: Audit plan, unless: [GDPR Art. 17] }`
    Object.assign(services, { retention: rulesOf(text) })
    const ids = [await record({ stakes: 'high' }), await record({ stakes: 'high' })]
    const low = await record({ stakes: 'low' })
    const asked = (id: string, basis: string) => ({ id, basis, reason: 'asked for' })
    expect(await refused('eraseDecision', asked(ids[0]!, 'House rule'), 'root')).toMatchObject({
      error: 'invalid_params',
      data: { kept_until: '2026-09-29', issues: [{ path: 'basis', expected: 'one of GDPR Art. 17' }] },
    })
    for (const [id, basis] of [
      [low, 'House rule'],
      [ids[0]!, 'gdpr art. 17'],
    ] as const)
      expect(await call('eraseDecision', asked(id, basis), 'root')).toMatchObject({ erased: true })
    clock.now += 90 * dayMs
    expect(await call('eraseDecision', asked(ids[1]!, 'House rule'), 'root')).toMatchObject({ erased: true })
  })
})

test('a decision that cannot be erased keeps nothing else: the others and old lines of the trail go, and the failure is reported', async () => {
  const program = await memoryProgram()
  const { record, clock, store, services } = program
  const damaged = await record({ decision: 'Deliver on Monday' })
  const over = [await record({ decision: 'Deliver on Tuesday' }), await record({ decision: 'Deliver on Friday' })]
  const get: typeof store.decisions.get = async (ids) =>
    (await store.decisions.get(ids)).map((text) => (text.id === damaged ? { ...text, json: 'damaged' } : text))
  const decisions = { ...store.decisions, get }
  const { rounds, timers, failures } = started(
    { ...program, services: { ...services, store: { ...services.store, decisions } } },
    rulesOf('retention: [{ kind: decision, at_most: 30d, basis: b }, { kind: audit, at_most: 30d, basis: b }]'),
  )
  await program.call('checkGuardrails', { action: { description: 'Do it' } })
  clock.now += 31 * dayMs
  timers.shift()!.run()
  while (timers.length === 0) await Bun.sleep(1)
  expect(failures).toMatchObject([{ message: expect.stringContaining('damaged') }])
  expect((await readDecisions(store.decisions, [damaged, ...over])).map(({ record: { id } }) => id)).toEqual([damaged])
  const methods = (await store.audit.list({ limit: 99 })).map(({ method }) => method)
  expect(methods).not.toContain('cstp.checkGuardrails')
  await rounds.close()
})
