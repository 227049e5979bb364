/** cstp.overruleEvidence: what the service inferred is outweighed by what is observed, and overruled by a curator, on every store. */
import { expect, test } from 'bun:test'
import { takeDelivery } from '../../src/domain/ledger/evidence/github/events.ts'
import * as gh from '../support/github.ts'
import { forEachBackend, type TestProgram } from '../support/program.ts'

const project = { name: gh.repo, pr: 7 }
const day = 86_400_000
const rules = `circuit_breakers: [{ scope: "agent:alice", failure_threshold: 2, window_ms: ${90 * day}, cooldown_ms: ${day} }]`

forEachBackend((open) => {
  const deliver = async ({ services }: TestProgram, ...given: gh.Example[]) => {
    for (const one of given) await takeDelivery(services.chain, gh.deliveryOf(one), [])
  }
  const settle = async (program: TestProgram) =>
    (await program.call('attributeOutcomes', { project: gh.repo, since: '90d' })).decisions.map(
      ({ outcome, basis, applied }) => [outcome, basis, applied],
    )
  async function merged(...numbers: number[]): Promise<{ program: TestProgram; ids: string[] }> {
    const program = await open()
    await program.rules(rules)
    program.clock.now = Date.parse(gh.at(0)) - day
    const ids: string[] = []
    for (const pr of numbers) ids.push(await program.record({ project: { ...project, pr } }))
    await deliver(program, ...numbers.map((number) => gh.merged({ number })))
    return { program, ids }
  }
  const revert = (number: number) => `This reverts commit ${gh.sha(`merge ${number}`)}.`
  const inferred = async (program: TestProgram) =>
    (await program.call('listEvidence', { evidence_class: 'inferred' })).events.map(({ seq }) => seq)

  test('a revert in words settles as inferred, a curator overrules it, and evidence settles again', async () => {
    const { program, ids } = await merged(7)
    await deliver(program, gh.merged({ number: 9, title: 'Tidy up', body: revert(7), at: 5 }))
    expect(await settle(program)).toEqual([['failure', 'inferred', true]])
    const [seq] = await inferred(program)
    const told = await program.call('overruleEvidence', { seq, reason: 'Number 9 only tidied up' }, 'curator')
    expect(told).toMatchObject({ overruled_seq: seq, attested_seq: seq! + 1 })
    const { events } = await program.call('listEvidence', { seq_from: seq! })
    expect(events).toMatchObject([
      { event_type: 'pr_reverted', evidence_class: 'inferred' },
      {
        event_type: 'evidence_overruled',
        evidence_class: 'attested',
        source: 'cstp:curator',
        payload: { seq, pr_number: 7, repo: gh.repo, agent: 'curator', reason: 'Number 9 only tidied up' },
      },
    ])
    program.clock.now += 10 * day
    expect(await settle(program)).toEqual([['success', 'evidence', true]])
    expect(await program.call('getDecision', { id: ids[0] })).toMatchObject({ outcome: 'success' })
    // The same words again change nothing.
    await deliver(program, gh.merged({ number: 10, title: 'Tidy up', body: revert(7), at: 6 }))
    expect(await inferred(program)).toEqual([seq!])
  })

  test('words never replace what was observed, and one pull request full of them stops no agent', async () => {
    const { program, ids } = await merged(7, 8, 9)
    const [settled, ...open_ids] = ids
    program.clock.now += 10 * day
    await program.call('attributeOutcomes', { project: gh.repo, since: '90d' })
    expect((await program.call('getDecision', { id: settled })).attribution_basis).toBe('evidence')
    for (const id of open_ids) expect((await program.call('getDecision', { id })).outcome).toBe('success')
    await deliver(program, gh.merged({ number: 12, title: 'x', body: [7, 8, 9].map(revert).join('\n'), at: 5 }))
    expect(await settle(program)).toEqual([])
    // Nor does it where nothing is settled yet.
    const fresh = await merged(7, 8, 9)
    await deliver(fresh.program, gh.merged({ number: 12, title: 'x', body: [7, 8, 9].map(revert).join('\n'), at: 5 }))
    expect(await settle(fresh.program)).toEqual(Array(3).fill(['failure', 'inferred', true]))
    const { state, failure_count } = await fresh.program.call('getCircuitState', { scope: 'agent:alice' })
    expect([state, failure_count]).toEqual(['closed', 1])
  })

  test('only inferred events can be overruled, by a curator, with a reason', async () => {
    const { program } = await merged(7)
    await deliver(program, gh.merged({ number: 9, title: 'Tidy up', body: revert(7), at: 5 }))
    const refused = async (params: object, as: 'alice' | 'curator' = 'curator') =>
      (await program.refused('overruleEvidence', params, as)).code
    expect(await refused({ seq: 3, reason: 'no' }, 'alice')).toBe(-32001)
    expect(await refused({ seq: 1, reason: 'observed' })).toBe(-32602)
    expect(await refused({ seq: 99, reason: 'not there' })).toBe(-32602)
    expect(await refused({ seq: 3, reason: ' ' })).toBe(-32602)
    expect(await refused({ seq: 3 })).toBe(-32602)
    expect((await program.call('verifyEvidenceChain')).records).toBe(3)
  })
})
