/**
 * Random and hostile requests over HTTP: none may break the server, hold it up, make it grow, or come back other than it went in.
 * `CSTP_SOAK=1` sends 100 000 of them, `CSTP_FUZZ_RUNS` another number; `CSTP_FUZZ_SEED` repeats a run.
 */

import { expect, test } from 'bun:test'
import { codes } from '../../sdk/errors.ts'
import { countDecisions } from '../../sdk/storage/groups.ts'
import { takeDelivery } from '../../src/domain/ledger/evidence/github/events.ts'
import { methods } from '../../src/methods/table.ts'
import { createAnswers } from '../../src/surfaces/http/answers.ts'
import { createFetch } from '../../src/surfaces/http/http.ts'
import { createBodies } from '../../src/surfaces/http/limits.ts'
import { ask, asking } from '../support/approvals.ts'
import * as gh from '../support/github.ts'
import { callers, forEachBackend, type TestProgram } from '../support/program.ts'
import * as fc from '../support/property.ts'
import { callOf, type Input, requests } from './requests.ts'

const runs = Number(process.env.CSTP_FUZZ_RUNS ?? (process.env.CSTP_SOAK ? 100_000 : 4_000))
const seed = Number(process.env.CSTP_FUZZ_SEED ?? (process.env.CSTP_SOAK ? Date.now() % 1_000_000 : 1))
/** Inputs for one program; then it is closed, so that what it rightly keeps does not hide what it leaks. */
const perProgram = 2_500
/** Processor time, not time of day: other work of the machine must not fail the test. */
const slow = ['cstp.reindex', 'cstp.exportEvidenceBundle']
const slowest_ms = (method = '') => (slow.includes(method) ? 10_000 : 1_000)
const spent_ms = (since: NodeJS.CpuUsage): number => {
  const { user, system } = process.cpuUsage(since)
  return (user + system) / 1_000
}
/** Failures that input alone must never cause. */
const never: number[] = [
  codes.internal_error,
  codes.query_failed,
  codes.record_failed,
  codes.review_failed,
  codes.guardrail_eval_failed,
  codes.attribution_failed,
  codes.rate_limited,
]
const statuses = [200, 204, 413]
/** What only the inside of the program knows. */
const inside =
  /\bat .{1,200}\.ts:\d+|node_modules|\/work\/|\/tmp\/cstp|\/src\/(?:domain|drivers|methods|surfaces)\/|RangeError|TypeError|SQLITE/

/** Where a bundle lies is what its caller asked for. */
const asked = /"(?:json|pdf|oscal)_path":"(?:[^"\\]|\\.)*"/g

interface Reply {
  error?: { code: number; message: string }
  result?: Record<string, unknown>
}

/** Whether the result contains everything that was given. */
function contains(found: unknown, given: unknown): boolean {
  if (given === null || typeof given !== 'object') return Object.is(found, given) || (given === 0 && found === 0)
  if (found === null || typeof found !== 'object') return false
  if (Array.isArray(given) && (!Array.isArray(found) || found.length !== given.length)) return false
  return Object.entries(given).every(([key, value]) => contains((found as Record<string, unknown>)[key], value))
}

/** Rules of every kind that asks for nothing slow, and a breaker that fails now and then. */
const rules = `
guardrails:
  - { id: fields, message: m, condition_stakes: critical, condition_confidence: "< 0.5", condition_context.a: exists }
  - { id: cel, action: warn, conditions: [{ type: cel, expression: "has(action.context.a) && action.context.a > 1.0" }] }
  - { id: nested, action: log, condition_context.a.b.c: "contains x", requires_context.ok: true }
  - { id: proven, message: m, condition_stakes: high, requires: [{ evidence: ci_completed, conclusion: success, by: bot, for: context.pr }] }
  - { id: released, message: m, condition_tags: contains deploy, requires: [{ approval: approver }, { evidence: pr_merged, within: 7d }] }
  - { id: asked, action: step_up, message: m, condition_confidence: "> 0.95", step_up: { expires: 1h, remember: "exact:1h" } }
  - { id: changed, action: modify, message: m, condition_stakes: medium, modify: { set: { context.a: 1, description: changed }, remove: [context.b, tags] } }
  - { id: unsure, action: defer, defer: { reason: r }, conditions: [{ type: field, field: calibration.n, operator: ">", value: 3 }] }
  - { id: before, action: warn, message: m, tag: pii, condition_session.actions: contains cache }
  - { id: seen, mode: shadow, message: m, conditions: [{ type: field, field: precedents.failed, operator: ">", value: 0, min_decisions: 1 }] }
circuit_breakers:
  - { scope: global, failure_threshold: 3, window_ms: 1000, cooldown_ms: 1 }
`

/** Fields of a record that come back as they went in. */
const kept = [
  'decision',
  'category',
  'confidence',
  'stakes',
  'context',
  'reasons',
  'alternatives_considered',
  'reasoning_trace',
  'bridge',
  'deliberation',
  'pattern',
  'agent_id',
  'review_in',
] as const

async function sendAll(
  program: TestProgram,
  inputs: Iterable<Input>,
  ids: string[],
  tally: Map<string, Set<number>>,
): Promise<string[]> {
  const fetch = createFetch({
    dispatch: program.dispatch,
    authenticate: () => callers.root,
    requests: { take: () => 0 },
    guesses: { failed: () => 0, wait: () => 0 },
    bodies: createBodies(134_217_728),
    answers: createAnswers(134_217_728, () => () => {}),
    hosts: null,
    cors_origins: ['*'],
    max_body_bytes: 4_194_304,
    trust_proxy: 0,
    newRequestId: () => 'r',
    health: () => ({}),
    root: () => new Response(),
    agentCard: () => ({}),
    a2aCard: () => ({}),
    ready: () => true,
    metrics: async () => ({ text: '', content_type: 'text/plain' }),
    stopping: new AbortController().signal,
  })
  const post = async (text: string) => {
    const headers = { 'content-type': 'application/json' }
    const response = await fetch(
      new Request('http://cstp.test/cstp', { method: 'POST', body: text, headers }),
      () => '127.0.0.1',
    )
    return { status: response.status, body: await response.text() }
  }
  const wrong: string[] = []
  for (const { text, call } of inputs) {
    const complain = (what: string) =>
      wrong.push(`${what}: ${text.length > 500 ? `${text.slice(0, 500)}… (${text.length})` : text}`)
    const start = process.cpuUsage()
    const { status, body } = await post(text)
    const took = spent_ms(start)
    if (took > slowest_ms(call?.method)) complain(`took ${Math.round(took)} ms`)
    if (!statuses.includes(status)) complain(`status ${status}`)
    if (
      status === 204
        ? body !== ''
        : inside.test(body.replaceAll(JSON.stringify(text).slice(1, -1), '').replaceAll(asked, ''))
    )
      complain(`told too much: ${body.slice(0, 300)}`)
    if (status === 204) continue
    const parsed = JSON.parse(body) as Reply | Reply[]
    for (const { error, result } of [parsed].flat()) {
      if (error && never.includes(error.code)) complain(`code ${error.code} ${error.message}`)
      if (status === 200 && (error === undefined) === (result === undefined)) complain('neither result nor error')
    }
    if (!call || Array.isArray(parsed)) continue
    const seen = tally.get(call.method) ?? new Set()
    tally.set(call.method, seen.add(parsed.error?.code ?? 0))
    if (call.method !== 'cstp.recordDecision' || !parsed.result) continue
    const id = String(parsed.result.decision_id)
    ids.push(id)
    const given = (JSON.parse(text) as { params: Record<string, unknown> }).params
    if (given.source_key || given.idempotency_key || given.idempotencyKey || given.sourceKey) continue
    const found = JSON.parse(
      (await post(JSON.stringify({ jsonrpc: '2.0', method: 'cstp.getDecision', params: { id }, id: 1 }))).body,
    ) as Reply
    for (const field of kept)
      if (given[field] != null && !contains(found.result?.[field], given[field]))
        complain(`${field} came back as ${JSON.stringify(found.result?.[field])?.slice(0, 300)}`)
  }
  return wrong
}

/** With right and with wrong parameters. */
const reached = (tally: ReadonlyMap<string, ReadonlySet<number>>, method: string): boolean =>
  [0, codes.invalid_params].every((code) => tally.get(method)?.has(code))

forEachBackend((open) => {
  test(`${runs} inputs`, async () => {
    const tally = new Map<string, Set<number>>()
    const rounds = Math.max(1, Math.round(runs / 2 / perProgram))
    const memory: number[] = []
    for (let round = 0; round < rounds; round++) {
      const program = await open()
      program.folders.add('decisions')
      await program.rules(rules)
      const ids: string[] = []
      for (let index = 0; index < 3; index++) ids.push(await program.record({ decision: `Seed ${index}` }))
      const event = { event_type: 'pr_merged', ts: '2026-06-30T12:00:00Z', payload: { pr_number: 7, repo: 'cache' } }
      await program.call('ingestEvidence', { source: 'github', events: Array(5).fill(event) }, 'root')
      const send = async (inputs: Input[]) =>
        expect({ seed: seed + round, wrong: await sendAll(program, inputs, ids, tally) }).toEqual({
          seed: seed + round,
          wrong: [],
        })
      // Reverts in words, which can be overruled.
      for (let number = 1; number <= 10; number++) {
        const body = `This reverts commit ${gh.sha(`merge ${number}`)}.`
        for (const one of [gh.merged({ number }), gh.merged({ number: 100 + number, title: 'Tidy up', body, at: 5 })])
          await takeDelivery(program.services.chain, gh.deliveryOf(one), [])
      }
      const approvals: string[] = []
      for (let amount = 0; amount < 20; amount++)
        approvals.push((await ask(program, asking(program, { amount }))).approval!.id)
      const known = (method: string) => (/Approval$/.test(method) ? approvals : ids)
      const numRuns = Math.min(perProgram, Math.ceil(runs / 2))
      await send(fc.sample(requests(known), { seed: seed + round, numRuns }))
      // Chance leaves some out: it may choose seldom, and a right call takes several right values.
      const missed = () => [...methods.keys()].filter((name) => !reached(tally, name))
      for (const name of missed()) {
        // Those before may be erased by now.
        for (let index = 0; index < 3; index++) ids.unshift(await program.record({ decision: `For ${name} ${index}` }))
        ids.length = Math.min(ids.length, 20)
        for (const input of fc.sample(callOf(name, known), { seed: seed + round, numRuns: 500 }))
          if (!reached(tally, name)) await send([input])
      }
      // What was accepted is still there, for another server too, and its own files are whole.
      const other = await program.second()
      expect(await other.store.reconcile()).toEqual([])
      expect(await countDecisions(other.store.decisions, {})).toBe(await countDecisions(program.store.decisions, {}))
      await other.close()
      await program.close()
      Bun.gc(true)
      memory.push(process.memoryUsage.rss() / 1_048_576)
    }
    // Every method was reached with right and with wrong parameters.
    expect([...methods.keys()].filter((name) => !reached(tally, name))).toEqual([])
    expect(({} as Record<string, unknown>).polluted).toBeUndefined()
    // The first round fills caches and grows the heap; the rest must not go on growing.
    expect(memory.at(-1)! - memory[0]!).toBeLessThan(300)
    expect(memory[0]!).toBeLessThan(1_500)
  }, 3_600_000)
})
