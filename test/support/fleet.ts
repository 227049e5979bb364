/** A data directory with 2 500 decisions of nine agents, filled by the service's own methods under a clock that moves; with rules, blocks, breakers, approvals, drift and evidence. */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { $ } from 'bun'
import { loadSettings } from '../../src/app/config/config.ts'
import { openProgram } from '../../src/app/server.ts'
import { type Scope, scopes } from '../../src/core/caller.ts'
import { createLog } from '../../src/core/log.ts'
import { type FleetAgent, fleet, historyDays, plan, seeded } from './fleet-plan.ts'
import { everyScope, type RunningServer, startServer } from './process.ts'

const minuteMs = 60_000
const hourMs = 60 * minuteMs
const dayMs = 24 * hourMs

/** `root` may do everything, `reader` and the nine agents read and write. */
export const fleetTokens = Object.fromEntries(
  ['root', 'reader', ...fleet].map((agent) => [agent, `${agent}-token-of-the-fleet`]),
)

const unsure = (below: number) => `
  - id: unsure-at-critical-stakes
    name: Unsure at critical stakes
    description: A guess is not enough where much is at risk.
    action: block
    conditions:
      - { type: field, field: stakes, operator: "=", value: critical }
      - { type: field, field: confidence, operator: "<", value: ${below}, when_missing: match }
    message: Confidence below ${below} at critical stakes
    suggestion: Look for precedents or test an assumption, then state your confidence`
const payments = `
  - id: large-payment
    name: Large payment
    action: step_up
    condition_category: payment
    conditions:
      - { type: field, field: context.amount, operator: ">", value: 5000, when_missing: no_match }
    step_up: { expires: 12h }
    message: A person approves payments above 5 000`
const rollback = `
  - id: irreversible-without-plan
    name: Irreversible without a rollback plan
    action: warn
    condition_context.irreversible: true
    requires_rollback_plan: true
    message: This can't be undone, and there is no plan for a failure`
const breakers = `
circuit_breakers:
  - { scope: "category:deployment", failure_threshold: 3, window_ms: ${4 * hourMs}, cooldown_ms: ${6 * hourMs} }
  - { scope: "tag:nightly", failure_threshold: 3, window_ms: ${12 * hourMs}, cooldown_ms: ${6 * hourMs} }
  - { scope: "agent:analyst", failure_threshold: 8, window_ms: ${4 * hourMs}, cooldown_ms: ${6 * hourMs} }
`
/** The rules as they changed, with the days ago on which they did. */
export const fleetPolicies = [
  { days_ago: historyDays + 1, text: `guardrails:${unsure(0.4)}\n` },
  { days_ago: 120, text: `guardrails:${unsure(0.5)}${rollback}\n${breakers}` },
  { days_ago: 40, text: `guardrails:${unsure(0.5)}${rollback}${payments}\n${breakers}` },
] as const

interface Step {
  at_ms: number
  work(): Promise<unknown>
}

/** Fills an empty directory; its last entries are of this minute. */
export async function fillFleet(dir: string): Promise<void> {
  const rules = join(dir, 'rules')
  await mkdir(rules, { recursive: true })
  const useRules = (text: string) => writeFile(join(rules, 'fleet.yaml'), text)
  await useRules(fleetPolicies[0].text)
  const end_ms = Date.now()
  const ago = (days: number) => end_ms - Math.round(days * dayMs)
  const clock = { now: ago(historyDays + 1) }
  const random = seeded(4_711)
  const { settings } = await loadSettings({
    env: {
      CSTP_DATA_DIR: dir,
      CSTP_EMBEDDER: 'hash',
      GUARDRAILS_PATHS: rules,
      CSTP_AUTH_TOKENS: `root:${fleetTokens.root}`,
      ...everyScope('root'),
    },
    flags: {},
    readFile: async () => '',
  })
  const log = createLog({ level: 'error', pretty: false, write: () => {}, now: Date.now })
  const randomHex = (bytes: number) =>
    Array.from({ length: bytes }, () =>
      Math.floor(random() * 256)
        .toString(16)
        .padStart(2, '0'),
    ).join('')
  const { services, dispatch, close } = await openProgram(settings, log, { now: () => clock.now, randomHex })
  const { signal } = new AbortController()
  let requests = 0
  const call = async (agent: string, method: string, params: object): Promise<Record<string, unknown>> => {
    const own: Scope[] = agent === 'root' ? [...scopes] : agent === 'approver' ? ['read', 'approve'] : ['read', 'write']
    const caller = { agent, scopes: new Set(own) }
    const request = { method: `cstp.${method}`, params, caller, request_id: `fleet-${requests++}`, signal }
    return (await dispatch(request)) as Record<string, unknown>
  }
  const steps: Step[] = []
  const at = (at_ms: number, work: Step['work']) => steps.push({ at_ms, work })

  for (const { days_ago, text } of fleetPolicies.slice(1))
    at(ago(days_ago), async () => {
      await useRules(text)
      await services.policy.reload()
    })
  for (const [number, { agent, days_ago, text, category, stakes, confidence, review }] of plan().entries()) {
    let id = ''
    const given = {
      decision: text,
      category,
      stakes,
      confidence,
      reasons: reasonsOf(number),
      tags: [stakes === 'critical' ? 'watched' : 'routine'],
    }
    at(ago(days_ago), async () => {
      id = (await call(agent, 'recordDecision', given)).decision_id as string
    })
    if (review) {
      const { outcome, by, after_days } = review
      at(ago(days_ago - after_days), () =>
        call(by, 'reviewDecision', { decision_id: id, outcome, ...resultOf(outcome, number) }),
      )
    }
  }
  blocks(at, ago, call)
  await deliberations(at, ago, call)
  failures(at, ago, call)
  evidence(at, ago, call)
  // From before anybody kept such records.
  at(ago(1), () =>
    call('root', 'recordDecision', {
      decision: 'Keep years with four digits',
      category: 'architecture',
      confidence: 0.9,
      created_at: '2000-01-03',
      recorded_by: 'librarian',
    }),
  )
  steps.sort((a, b) => a.at_ms - b.at_ms)
  for (const { at_ms, work } of steps) {
    clock.now = at_ms
    await work()
  }
  await close()
}

type At = (at_ms: number, work: Step['work']) => void
type Ago = (days: number) => number
type CallAs = (agent: string, method: string, params: object) => Promise<Record<string, unknown>>

const reasonTypes = ['analysis', 'pattern', 'risk', 'intuition'] as const
const reasonsOf = (number: number) =>
  [0, 1].slice(0, 1 + (number % 2)).map((one) => ({
    type: reasonTypes[(number + one) % reasonTypes.length]!,
    text: one === 0 ? 'The figures of last week say so.' : 'It was done like this before.',
    strength: ((number * 7 + one * 13) % 10) / 10 + 0.05,
  }))
const resultOf = (outcome: string, number: number) =>
  outcome === 'failure'
    ? { actual_result: 'It had to be taken back.', lessons: number % 3 === 0 ? 'Try it on one region first.' : null }
    : { actual_result: outcome === 'success' ? 'It works as planned.' : null }

/** What agents asked and were refused, and what waits for a person. */
function blocks(at: At, ago: Ago, call: CallAs): void {
  const check = (agent: FleetAgent, action: object) => call(agent, 'checkGuardrails', { action })
  for (let number = 0; number < 60; number++) {
    const agent = fleet[number % fleet.length]!
    const action = {
      description: `Drop the old copy of table ${number + 1}`,
      category: 'migration',
      stakes: 'critical',
      confidence: 0.3,
      context: { table: `copy_${number + 1}`, rows: 1_000 * (number + 1), irreversible: true },
    }
    at(ago((number + 0.5) * 6), () => check(agent, action))
    at(ago((number + 0.3) * 6), () => check(agent, { ...action, confidence: 0.8 }))
  }
  for (let number = 0; number < 12; number++) {
    const pay = { description: `Pay invoice ${4_711 + number}`, category: 'payment', stakes: 'high', confidence: 0.9 }
    const hours = number < 4 ? number + 0.2 : number * 60
    const request = { ...pay, context: { amount: 6_000 + 500 * number } }
    at(ago(hours / 24), async () => {
      const { approval } = (await check('buyer', request)) as { approval: { id: string } | null }
      if (number >= 4 && number % 3 !== 0)
        await call('approver', 'decideApproval', {
          id: approval!.id,
          decision: number % 2 === 0 ? 'approve' : 'deny',
          reason: 'Checked against the order',
        })
    })
  }
}

/** Decisions with the questions and thoughts that led to them, and pairs that contradict each other. */
async function deliberations(at: At, ago: Ago, call: CallAs): Promise<void> {
  for (let number = 0; number < 30; number++) {
    const agent = fleet[number % fleet.length]!
    const days = 1 + number * 1.7
    at(ago(days) - 3 * minuteMs, () => call(agent, 'queryDecisions', { query: 'move the order queue', limit: 3 }))
    at(ago(days) - minuteMs, () => call(agent, 'recordThought', { text: 'The queue may lose what is under way.' }))
    at(ago(days), () =>
      call(agent, 'recordDecision', {
        decision: `Drain the order queue before step ${number + 1}`,
        category: 'process',
        stakes: 'medium',
        confidence: 0.8,
      }),
    )
  }
  for (const [pair, about] of ['a cache of prices', 'a second login provider', 'nightly imports'].entries())
    for (const outcome of ['success', 'failure'] as const) {
      let id = ''
      const days = 20 + pair * 9 + (outcome === 'success' ? 4 : 0)
      at(ago(days), async () => {
        const given = {
          decision: `Use ${about}`,
          category: 'architecture',
          confidence: 0.7,
          project: `shop/part-${pair}`,
        }
        id = (await call('planner', 'recordDecision', given)).decision_id as string
      })
      at(ago(days - 1), () => call('tester', 'reviewDecision', { decision_id: id, outcome }))
    }
}

/** What opened the breaker of deployments an hour ago, what it stopped since, and a breaker that waits for its probe. */
function failures(at: At, ago: Ago, call: CallAs): void {
  const failed = (hours: number, number: number, given: object) => {
    let id = ''
    at(ago((hours + 0.5) / 24), async () => {
      id = (await call('releaser', 'recordDecision', { confidence: 0.85, ...given })).decision_id as string
    })
    at(ago(hours / 24), () =>
      call('tester', 'reviewDecision', {
        decision_id: id,
        outcome: 'failure',
        actual_result: `Region ${number} answered errors for ten minutes.`,
        lessons: 'Switch one region and wait.',
      }),
    )
  }
  for (const number of [1, 2, 3]) {
    const decision = `Switch region ${number} to the new checkout`
    failed(1.2 - number * 0.1, number, { decision, category: 'deployment', stakes: 'high' })
    failed(9 - number * 0.1, number, {
      decision: `Run the nightly import ${number}`,
      category: 'process',
      tags: ['nightly'],
    })
  }
  at(ago(1.5 / 24), () =>
    call('releaser', 'recordDecision', {
      decision: 'Run the nightly import in smaller parts',
      category: 'process',
      confidence: 0.7,
      tags: ['nightly'],
    }),
  )
  for (const [number, agent] of (['builder', 'releaser', 'builder', 'planner'] as const).entries())
    at(ago((0.7 - number * 0.1) / 24), () =>
      call(agent, 'preAction', {
        action: {
          description: `Switch region ${number + 4} to the new checkout`,
          category: 'deployment',
          stakes: 'high',
          confidence: 0.8,
          context: { region: number + 4, build: 318 },
        },
        options: { auto_record: true },
      }),
    )
}

/** Events of pull requests, each linked to a decision. */
function evidence(at: At, ago: Ago, call: CallAs): void {
  for (let number = 1; number <= 20; number++) {
    const days = number * 5
    const event = (event_type: string, more: object) => ({
      event_type,
      ts: new Date(ago(days)).toISOString(),
      payload: { repository: 'shop/web', pr_number: number, ...more },
    })
    const events = [
      event('pr_opened', { author: 'builder', is_agent_authored: true }),
      event('ci_completed', { conclusion: 'success', all_passed: true }),
      event('pr_review_approved', { reviewer: 'maintainer', actor_is_human: number % 2 === 0, approval_count: 1 }),
    ]
    at(ago(days), async () => {
      const { first_seq } = (await call('root', 'ingestEvidence', { source: 'github', events })) as {
        first_seq: number
      }
      const given = { decision: `Merge pull request ${number} of the shop`, category: 'process', confidence: 0.85 }
      const { decision_id } = await call('builder', 'recordDecision', given)
      await call('root', 'linkEvidence', { decision_id, event_seqs: [first_seq, first_seq + 2] })
    })
  }
}

/** Filled once in a process, whichever test file asks first; every file gets a copy. */
const shared = globalThis as { cstpFleet?: Promise<string> }
function filled(): Promise<string> {
  shared.cstpFleet ??= (async () => {
    const dir = await mkdtemp(join(tmpdir(), 'cstp-fleet-'))
    process.once('exit', () => Bun.spawnSync(['rm', '-rf', dir]))
    await fillFleet(dir)
    return dir
  })()
  return shared.cstpFleet
}

export interface FleetServer extends RunningServer {
  /** Ends it and removes its directory. */
  close(): Promise<void>
}

/** A server on a fresh copy of the directory, with `root` as its first agent. */
export async function startFleet(env: Record<string, string> = {}): Promise<FleetServer> {
  const dir = await mkdtemp(join(tmpdir(), 'cstp-fleet-copy-'))
  await $`cp -r ${await filled()}/. ${dir}`
  const server = await startServer({
    dir,
    env: {
      CSTP_AUTH_TOKENS: Object.entries(fleetTokens)
        .map((pair) => pair.join(':'))
        .join(','),
      GUARDRAILS_PATHS: join(dir, 'rules'),
      ...env,
    },
  })
  return {
    ...server,
    async close() {
      await server.kill()
      await rm(dir, { recursive: true, force: true })
    },
  }
}

if (import.meta.main) await fillFleet(process.argv[2]!)
