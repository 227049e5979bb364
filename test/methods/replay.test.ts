/** Replay of the audit trail: the archived rules give the verdict of then byte by byte, and what was altered shows. */
import { expect, test } from 'bun:test'
import { Readable } from 'node:stream'
import type { StoredAuditEntry } from '../../sdk/storage/store.ts'
import { archivedPolicy, compileArchived } from '../../src/domain/policy/judge/archive.ts'
import type { PolicySet } from '../../src/domain/policy/rules/set.ts'
import { type Replayed, replayAll } from '../../src/domain/policy/trial/replay.ts'
import { forEachBackend, type TestProgram } from '../support/program.ts'

const above = (amount: number) =>
  `conditions: [{ type: field, field: context.amount, operator: ">", value: ${amount}, when_missing: no_match }]`
const rules = `
guardrails:
  - { id: large, message: too much, ${above(5000)} }
  - { id: noted, action: warn, message: mind it, condition_category: payment }
  - { id: often, message: too often, conditions: [{ type: temporal, field: category, value: payment, window_hours: 1, max_occurrences: 2 }] }
  - { id: weak, action: warn, message: weak, conditions: [{ type: aggregate, metric: success_rate, operator: "<", value: 0.5 }] }
  - { id: alike, action: warn, message: failed before, conditions: [{ type: semantic, threshold: 0.8, outcome: failure }] }
  - { id: learned, message: failed twice, condition_precedents.failed: ">= 2" }
  - { id: left, message: left, condition_category: mail, condition_session.actions: contains payment }
  - { id: people, message: asks, action: step_up, condition_category: hiring }
  - { id: trial, mode: shadow, message: m, ${above(50)} }
circuit_breakers: [{ scope: "category:payment", failure_threshold: 2, window_ms: 86400000, cooldown_ms: 3600000 }]
`
const relaxed = `- { id: large, message: too much, ${above(7000)} }`

async function replayed(program: TestProgram, entries?: StoredAuditEntry[]): Promise<Replayed[]> {
  const now = await program.services.policy.current()
  const archived = async (policy_hash: string): Promise<PolicySet | 'altered' | null> => {
    const found = await archivedPolicy(program.store, policy_hash)
    return found && compileArchived({ policy_hash, guardrails: found.rules, circuit_breakers: found.breakers })
  }
  const all = entries ?? (await program.store.audit.list({ limit: 500 }))
  const found: Replayed[] = []
  const sums = await replayAll(now, archived, Readable.from(all), (one) => found.push(one))
  const of = (outcome: string) => found.filter(({ by_its_rules }) => by_its_rules.outcome === outcome)
  expect(sums).toEqual({
    evaluations: found.length,
    repeated: of('same').length,
    not_repeatable: Object.fromEntries(
      [...Map.groupBy(of('unknown'), ({ by_its_rules }) => by_its_rules.why)].map(([why, some]) => [why, some.length]),
    ),
    different: of('different'),
    uncertain: found.filter(({ uncertain }) => uncertain.length > 0).length,
    changed: found.filter(({ before, after }) => before !== after),
  })
  return found
}

async function history(program: TestProgram): Promise<void> {
  await program.rules(rules)
  const ask = (action: object) =>
    program.call('checkGuardrails', { action: { description: 'Pay the invoice', ...action } })
  const pay = { category: 'payment' }
  await ask({})
  await ask({ ...pay, context: { amount: 6000 } })
  await ask({ ...pay, context: { amount: 60 } })
  await ask({ category: 'mail' })
  await ask({ category: 'hiring' })
  for (let at = 0; at < 101; at++)
    await program.call('checkGuardrails', { action: { description: 'Look', context: { tool: `t${at}` } } }, 'bob')
  await program.call('checkGuardrails', { action: { description: 'Write', category: 'mail' } }, 'bob')
  for (let at = 0; at < 2; at++) {
    const id = await program.record({ decision: 'Pay the invoice', ...pay })
    await program.call('reviewDecision', { id, outcome: 'failure' }, 'bob')
    program.clock.now += 60_000
    await ask(pay)
  }
  await program.call('preAction', { action: { description: 'Pay the invoice', ...pay } })
  // The past goes on: what was counted then can't be counted any more.
  program.clock.now += 40 * 86_400_000
  for (let at = 0; at < 3; at++) await program.record({ decision: 'Something else entirely', category: 'other' })
}

forEachBackend((open) => {
  test('every verdict is repeated by the rules of its time, whatever happened since', async () => {
    const program = await open()
    await history(program)
    await program.rules(relaxed)
    const found = await replayed(program)
    expect(found.length).toBeGreaterThanOrEqual(12)
    expect(found.filter(({ by_its_rules }) => by_its_rules.outcome !== 'same')).toEqual([])
    const fired = new Set(found.flatMap(({ rules_before }) => rules_before))
    for (const id of ['large', 'noted', 'often', 'weak', 'alike', 'learned', 'left', 'people', 'trial'])
      expect([id, fired.has(id)]).toEqual([id, true])
    expect(fired.has('circuit_breaker:category:payment')).toBe(true)
    // And by the rules of now: only the limit is left, and it is higher.
    const large = found.find(({ rules_before }) => rules_before.includes('large'))
    expect(large).toMatchObject({ before: 'block', after: 'pass', rules_after: [] })
  })

  test('an entry or an archive that was altered is not the same; what was redacted or not archived is unknown', async () => {
    const program = await open()
    await history(program)
    const [entry] = (await program.store.audit.list({ rule: 'large', limit: 1 })) as [StoredAuditEntry]
    const altered = (change: (detail: Record<string, never>) => object): StoredAuditEntry => ({
      ...entry,
      detail: { ...(entry.detail as object), ...change(structuredClone(entry.detail) as never) },
    })
    const entries = [
      altered(({ input }) => ({ input: { ...(input as object), context: { amount: 1 } } })),
      altered(() => ({ verdict_digest: '0'.repeat(64) })),
      altered(() => ({ redacted: true })),
      altered(() => ({ policy_hash: 'a'.repeat(64) })),
    ]
    expect((await replayed(program, entries)).map(({ by_its_rules }) => by_its_rules)).toEqual([
      { outcome: 'different', why: 'input altered' },
      { outcome: 'different', why: null },
      { outcome: 'unknown', why: 'redacted text' },
      { outcome: 'unknown', why: 'rules not archived' },
    ])
    const { policy_hash } = entry.detail as { policy_hash: string }
    const [kept] = await program.store.keyed.get('policy', [policy_hash])
    const value = kept!.value as { rules: { message: string }[] }
    value.rules[0]!.message = 'never said'
    await program.store.transaction((tx) => tx.keyed.put('policy', policy_hash, value))
    expect((await replayed(program, [entry]))[0]!.by_its_rules).toEqual({
      outcome: 'different',
      why: 'archived rules altered',
    })
  })
})
