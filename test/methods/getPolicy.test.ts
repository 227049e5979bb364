/** cstp.getPolicy: the archive keeps every rule set that was in force under its hash, with its times. */
import { expect, test } from 'bun:test'
import { compileArchived } from '../../src/domain/policy/judge/archive.ts'
import { callers, forEachBackend } from '../support/program.ts'

const first = '- { id: one, message: m, condition_stakes: critical }'
const second = `
guardrails: [{ id: two, action: warn, condition_context.amount: "> 5" }]
circuit_breakers: [{ scope: global, failure_threshold: 1, window_ms: 1000, cooldown_ms: 1000 }]`
const hour = 3_600_000

forEachBackend((open) => {
  test('the set in force, and one that was replaced', async () => {
    const program = await open()
    const { call, clock } = program
    const at = () => new Date(clock.now).toISOString()
    await program.rules(first)
    const from = at()
    const one = await call('getPolicy')
    expect(one).toMatchObject({
      in_force_from: from,
      in_force_until: null,
      guardrails: [{ id: 'one', action: 'block', message: 'm', file: 'test.yaml', line: 1 }],
      circuit_breakers: [],
    })
    const { policy_hash } = await call('checkGuardrails', { action: { description: 'Do it' } })
    expect(policy_hash).toBe(one.policy_hash)
    clock.now += hour
    await program.rules(second)
    const until = at()
    expect(await call('getPolicy', { policy_hash })).toEqual({
      ...one,
      in_force_until: until,
      periods: [{ in_force_from: from, in_force_until: until }],
      changes: expect.anything(),
    })
    const two = await call('getPolicy')
    expect(two.circuit_breakers).toMatchObject([{ scope: 'global', failure_threshold: 1 }])
    // The content proves itself: its hash is its name.
    expect(compileArchived(two)).toMatchObject({ hash: two.policy_hash })
    expect(compileArchived({ ...two, guardrails: one.guardrails })).toBe('altered')
    clock.now += hour
    await program.rules(first)
    const hashes = [policy_hash, two.policy_hash, policy_hash]
    expect((await call('getPolicy')).changes.slice(0, 3)).toEqual(
      [at(), until, from].map((in_force_from, place) => ({ policy_hash: hashes[place]!, in_force_from })),
    )
    expect(one.applies).toEqual({ one: 'stakes = critical' })
    expect((await call('getPolicy')).periods).toEqual([
      { in_force_from: from, in_force_until: until },
      { in_force_from: at(), in_force_until: null },
    ])
  })

  test('the check of a caller with an identity writes its verdict, and archives nothing again', async () => {
    const { services, dispatch, rules } = await open()
    await rules(first)
    const { store } = services
    const write = store.transaction
    let transactions = 0
    store.transaction = (work) => {
      transactions++
      return write(work)
    }
    const identity = { issuer: 'https://issuer.example', sub: 'a person', kind: 'person' } as const
    const { signal } = new AbortController()
    const params = { action: { description: 'Do it' }, dry_run: true }
    for (const request_id of ['one', 'two'])
      await dispatch({
        ...{ method: 'cstp.checkGuardrails', params, request_id, signal },
        caller: { ...callers.alice, identity },
      })
    expect(transactions).toBe(2)
  })

  test('a second server with the same rules leaves the times alone; what it evaluates by is archived', async () => {
    const program = await open()
    await program.rules(first)
    const before = await program.call('getPolicy')
    const other = await program.second()
    program.clock.now += hour
    await other.rules(first)
    expect(await other.call('getPolicy')).toEqual(before)
    const loaded = await open()
    await loaded.rules(second)
    // Loaded without being announced, as a command does that works on the data directory.
    other.services.policy.current = loaded.services.policy.current
    const { policy_hash } = await other.call('checkGuardrails', { action: { description: 'Do it' }, dry_run: true })
    expect((await program.call('getPolicy', { policy_hash })).guardrails).toMatchObject([{ id: 'two' }])
    expect((await program.call('getPolicy')).in_force_until).toBeNull()
  })
})
