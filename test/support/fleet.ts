/** A data directory with 2 500 decisions of nine agents, filled by the service's own methods under a clock that moves; with rules, blocks, breakers, approvals, drift and evidence. */
import { mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { $ } from 'bun'
import { loadSettings } from '../../src/app/config/config.ts'
import { openProgram } from '../../src/app/server.ts'
import { type Scope, scopes } from '../../src/core/caller.ts'
import { createLog } from '../../src/core/log.ts'
import { type At, blocks, type CallAs, deliberations, evidence, failures, reasonsOf, resultOf } from './fleet-events.ts'
import { fleet, historyDays, plan, seeded } from './fleet-plan.ts'
import { everyScope, type RunningServer, startServer, until } from './process.ts'

const hourMs = 3_600_000
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

/** Fills an empty directory; its last entries are of this minute. @returns the time that its days are counted back from */
async function fillFleet(dir: string): Promise<number> {
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
  // Files of rules change when this says so: the clock jumps so far at each step that they would be read and compiled again.
  const { policy } = services
  const read = policy.current
  let inForce = await read()
  policy.current = async () => inForce
  const { signal } = new AbortController()
  let requests = 0
  const call: CallAs = async (agent, method, params) => {
    const own: Scope[] = agent === 'root' ? [...scopes] : agent === 'approver' ? ['read', 'approve'] : ['read', 'write']
    const caller = { agent, scopes: new Set(own) }
    const request = { method: `cstp.${method}`, params, caller, request_id: `fleet-${requests++}`, signal }
    return (await dispatch(request)) as Record<string, unknown>
  }
  const steps: Step[] = []
  const at: At = (at_ms, work) => void steps.push({ at_ms, work })

  for (const { days_ago, text } of fleetPolicies.slice(1))
    at(ago(days_ago), async () => {
      await useRules(text)
      await policy.reload()
      inForce = await read()
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
  deliberations(at, ago, call)
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
  return end_ms
}

interface Filled {
  archive: Buffer
  end_ms: number
}
/** Filled once in a process, whichever test file asks first, and kept as an archive in memory: no folder is left when the process ends. */
const shared = globalThis as { cstpFleet?: Promise<Filled> }
function filled(): Promise<Filled> {
  const run = process.env.CSTP_TEST_RUN
  shared.cstpFleet ??= run === undefined ? fill() : filledFor(run)
  return shared.cstpFleet
}

async function fill(): Promise<Filled> {
  const dir = await mkdtemp(join(tmpdir(), 'cstp-fleet-'))
  try {
    const end_ms = await fillFleet(dir)
    return { archive: Buffer.from(await $`tar -c -C ${dir} .`.arrayBuffer()), end_ms }
  } finally {
    await rm(dir, { recursive: true, force: true })
  }
}

/** One worker of a run fills it for all; the others wait for the archive in the folder of the run. */
async function filledFor(run: string): Promise<Filled> {
  const [archive, time] = [join(run, 'fleet.tar'), join(run, 'fleet.time')]
  await mkdir(run, { recursive: true })
  const isFirst = await mkdir(join(run, 'fleet')).then(
    () => true,
    () => false,
  )
  if (!isFirst) {
    await until('the fleet is filled', () => Bun.file(archive).exists())
    return { archive: await readFile(archive), end_ms: Number(await readFile(time, 'utf8')) }
  }
  const made = await fill()
  await writeFile(time, String(made.end_ms))
  await writeFile(`${archive}.part`, made.archive)
  await rename(`${archive}.part`, archive)
  return made
}

export interface FleetServer extends RunningServer {
  /** The time that the days of its history are counted back from, which may be of yesterday. */
  end_ms: number
  /** Ends it and removes its directory. */
  close(): Promise<void>
}

/** A server on a fresh copy of the directory, with `root` as its first agent. */
export async function startFleet(env: Record<string, string> = {}): Promise<FleetServer> {
  const dir = await mkdtemp(join(tmpdir(), 'cstp-fleet-copy-'))
  const { archive, end_ms } = await filled()
  await $`tar -x -C ${dir} < ${archive}`
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
    end_ms,
    async close() {
      await server.kill()
      await rm(dir, { recursive: true, force: true })
    },
  }
}

if (import.meta.main) await fillFleet(process.argv[2]!)
