/** The world in which adversaries act: other agents' records, verdicts of others on their own, grants, and rules that stop them. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { CstpError } from '../../sdk/errors.ts'
import { upstreamOf } from '../../src/app/config/upstreams.ts'
import { openGate } from '../../src/app/gateway.ts'
import { readAdrFolder } from '../../src/cli/adr/folder.ts'
import type { Connection } from '../../src/cli/connection.ts'
import { load } from '../../src/cli/import-load.ts'
import type { Caller, Scope } from '../../src/core/caller.ts'
import { notePins } from '../../src/domain/gateway/pins.ts'
import { takeDelivery } from '../../src/domain/ledger/evidence/github/events.ts'
import { methods } from '../../src/methods/table.ts'
import type { Gate } from '../../src/surfaces/gateway/gate.ts'
import { callTool } from '../../src/surfaces/mcp/tools.ts'
import { deliveryOf, type Example, sha } from '../support/github.ts'
import { denied, openHooks } from '../support/hooks.ts'
import { inTemporaryDir } from '../support/process.ts'
import { callers, type TestProgram } from '../support/program.ts'

const agent = (name: string, scopes: Scope[]): Caller => ({ agent: name, scopes: new Set(scopes) })
/** Who acts against the others, by what each holds. Somebody who can write to a repository holds nothing: GitHub reports what happens there. */
const adversaries = {
  write: agent('mallory', ['read', 'write']),
  read: agent('rita', ['read']),
  evidence: agent('sensor', ['evidence']),
} as const
export type Credential = keyof typeof adversaries | 'repo'
export const alice = agent('alice', ['read', 'write'])
export const bob = agent('bob', ['read', 'write'])
const mallory = adversaries.write
const person = agent('person', ['read', 'approve'])
export const connector = agent('connector', ['read', 'evidence'])

const hour_ms = 3_600_000
export const category = {
  broken: 'deployment',
  proven: 'release',
  paid: 'payment',
  asked: 'purchase',
  moved: 'transfer',
} as const
export const breaker = `category:${category.broken}`

/** Each rule stops one category, for a reason that the adversary can't remove by what it says. */
const rules = `
guardrails:
  - { id: never, action: block, message: No payments, condition_category: ${category.paid} }
  - id: proven
    action: block
    message: The build must have passed
    condition_category: ${category.proven}
    requires: [{ evidence: ci_completed, conclusion: success, for: context.pr }]
  - { id: asked, action: step_up, message: A person agrees, condition_category: ${category.asked}, step_up: { expires: 1h } }
  - { id: force, action: block, message: No forced pushes, conditions: [{ type: command, program: git, flags: { any: [--force] } }] }
  - { id: never-drop, action: block, message: Nothing is dropped, condition_category: tool_use, condition_context.tool: drop }
  - { id: asked-to-send, action: step_up, message: A person agrees, condition_category: tool_use, condition_context.tool: send, step_up: { expires: 1h } }
  - { id: large, action: block, message: Too much, condition_category: ${category.moved}, condition_context.payment.amount: "> 5000" }
circuit_breakers:
  - { scope: "${breaker}", failure_threshold: 2, window_ms: ${24 * hour_ms}, cooldown_ms: ${hour_ms} }
`

/** What others have been granted. */
export const purchase = { description: 'Buy a server', category: category.asked, stakes: 'high', confidence: 0.9 }

/** What a person granted the adversary to send, once, through the gateway. */
export const letter = { to: 'ann', body: { text: 'Hello', pages: [1, 2] } }

/** One step of the adversary: calls made at once (a method of JSON-RPC, or a tool of MCP), what is in a repository, or time that passes. */
export type Step =
  | { calls: { name: string; params: unknown; tool?: boolean }[] }
  | { delivery: Example }
  /** Calls of tools of a server behind the gateway, made at once. */
  | { tools: { tool: string; input: unknown }[] }
  /** A commit that its hook observes, with what the client says that the tool printed. */
  | { commits: string }
  /** Somebody else reviews one of its decisions now, as they would have in the end. */
  | { reviewed: keyof typeof verdicts }
  /** Decision records of its repository, by file name, which an administrator imports. */
  | { records: Record<string, string> }
  /** Rule files of its repository, in which another agent works: what its client reports of a call that the operator's rules deny. */
  | { rule_files: { file: string; text: string | null }[]; project: string | null; branch: string; script_text: string }
  | { wait_ms: number }

export interface World {
  program: TestProgram
  /** Ids by the names that steps use: `@alice0`, `@mallory1`, `@new0`, `@last` for what it touched last. */
  ids: Map<string, string>
  /** A call as anybody. @throws CstpError */
  as(caller: Caller, name: string, params: object): Promise<Record<string, unknown>>
  /** The gateway in front of a server of tools. */
  gate: Gate
  /** When it begins. */
  began: string
}

/** What the others will say in the end of the adversary's decisions, whatever it did. */
export const verdicts = {
  mallory0: 'failure',
  mallory1: 'failure',
  mallory2: 'success',
  mallory3: 'failure',
  mallory4: 'partial',
  mallory5: 'failure',
} as const
const minute_ms = 60_000

export async function openWorld(program: TestProgram): Promise<World> {
  let requests = 0
  const { signal } = new AbortController()
  const ids = new Map<string, string>()
  const as: World['as'] = async (caller, name, params) =>
    (await program.dispatch({
      method: `cstp.${name}`,
      params,
      caller,
      request_id: `w${requests++}`,
      signal,
    })) as Record<string, unknown>
  const gate = openGate({
    ...{ services: program.services, name: 'files', caller: mallory, project: null, shadow: false, stopping: signal },
    upstream: upstreamOf(['files'], { calls_per_minute: 0 }),
    newRequestId: () => `g${requests++}`,
  })
  const world: World = { program, ids, as, gate, began: '' }
  await program.rules(rules)
  const record = async (key: string, by: Caller, given: object) => {
    program.clock.now += minute_ms
    const { decision_id } = await as(by, 'recordDecision', { confidence: 0.9, category: 'architecture', ...given })
    ids.set(`@${key}`, String(decision_id))
  }
  await record('alice0', alice, { decision: 'Use PostgreSQL as ledger', tags: ['ledger'] })
  await record('alice1', alice, { decision: 'Rotate the signing keys every quarter', tags: ['keys'] })
  await record('alice2', alice, { decision: 'Keep backups in another region all year', tags: ['backup'] })
  await record('alice3', alice, {
    decision: 'Encrypt backups with the customer key',
    tags: ['backup'],
    project: { name: 'team/app', pr: 7 },
  })
  for (const key of Object.keys(verdicts))
    await record(key, mallory, { decision: `Deploy service ${key}`, category: category.broken, tags: ['risky'] })
  const review = (key: string, by: Caller, outcome: string) =>
    as(by, 'reviewDecision', { decision_id: ids.get(`@${key}`), outcome, actual_result: `${key}: ${outcome}` })
  await review('alice0', bob, 'success')
  await review('alice1', alice, 'success')
  await review('mallory0', bob, 'failure')
  await review('mallory1', bob, 'failure')
  const ts = new Date(program.clock.now).toISOString()
  const event = (event_type: string, payload: object) => ({ event_type, ts, payload })
  await as(connector, 'ingestEvidence', {
    source: 'github',
    events: [
      event('ci_completed', { repo: 'team/other', pr_number: 7, conclusion: 'success' }),
      event('ci_completed', { repo: 'team/app', pr_number: 7, conclusion: 'failure' }),
      // Merged after all of these decisions were recorded: it belongs to the one that named it before.
      event('pr_merged', { repo: 'team/app', pr_number: 7, merge_commit_sha: sha('merge 7') }),
    ],
  })
  program.clock.now += minute_ms
  // What the adversary may want to use: a grant of somebody else's request, and a request of its own that waits.
  for (const [at, by] of [bob, mallory].entries()) {
    const { approval } = (await as(by, 'checkGuardrails', { action: purchase })) as { approval: { id: string } | null }
    if (approval) ids.set(`@approval${at}`, approval.id)
  }
  if (ids.has('@approval0')) await as(person, 'decideApproval', { id: ids.get('@approval0'), decision: 'approve' })
  const asked = await judgedCall(world, 'send', letter)
  if (asked.kind === 'ask') await as(person, 'decideApproval', { id: asked.approval.id, decision: 'approve' })
  // A tool that waits for a person, and a decision that nobody erases.
  const place = { place: 'npx files', identity: null }
  for (const description of ['Reads a file', 'Reads and sends a file'])
    await notePins(program.store, 'files', [{ name: 'read', description }], place, program.clock.now)
  await as(callers.root, 'setHold', { id: ids.get('@alice1'), on: true, reason: 'A case' })
  await as(alice, 'checkGuardrails', { action: { description: `Look at ${secret}`, category: 'architecture' } })
  program.clock.now += minute_ms
  world.began = new Date(program.clock.now).toISOString()
  program.clock.now += minute_ms
  return world
}

/** What only alice and those who may see everything get to read: it is in a verdict of hers. */
export const secret = 'Zirkonium'

/** The names of ids in `value`, replaced by the ids that exist now; those of nobody by the first. */
function resolve(value: unknown, ids: ReadonlyMap<string, string>): unknown {
  if (typeof value === 'string') return value.startsWith('@') ? (ids.get(value) ?? ids.get('@alice0')) : value
  if (Array.isArray(value)) return value.map((one) => resolve(one, ids))
  if (value === null || typeof value !== 'object') return value
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, resolve(one, ids)]))
}

/** A call of the adversary and how it was answered; the result is null where it was refused. */
export interface Answered {
  name: string
  params: unknown
  error?: string
  result: Record<string, unknown> | null
}

/** What `cstp import adr` does with the files of a repository, with the rights of an administrator. */
async function importRecords({ as, ids }: World, files: Record<string, string>): Promise<void> {
  await inTemporaryDir(async (dir) => {
    for (const [file, text] of Object.entries(files))
      await writeFile(
        join(dir, file),
        text.replace(/@\w+/g, (name) => ids.get(name) ?? name),
      )
    const { lines } = await readAdrFolder(dir, { project: 'team/app' })
    const call = (name: string, params: object) => as(callers.root, name, params)
    const connection = { call, send: call, close: async () => {} } as unknown as Connection
    await load(
      (async function* () {
        yield* lines
      })(),
      { connection, problem: () => {} },
    )
  })
}

let toolCalls = 0
const judgedCall = ({ gate }: World, tool: string, input: unknown): ReturnType<Gate['judge']> =>
  gate.judge({ id: `c${toolCalls++}`, tool, input, annotations: null })

/** What others say of its decision. */
export const review = ({ as, ids }: World, key: keyof typeof verdicts): Promise<unknown> =>
  as(bob, 'reviewDecision', {
    ...{ decision_id: ids.get(`@${key}`), outcome: verdicts[key], actual_result: `${key}: ${verdicts[key]}` },
  })

/** Takes a step; what was recorded gets a name. */
export async function take(world: World, step: Step, by: Exclude<Credential, 'repo'>): Promise<Answered[]> {
  const { program, ids, as } = world
  if ('delivery' in step) {
    await takeDelivery(program.services.chain, deliveryOf(step.delivery, `d${ids.size}`), [])
    return []
  }
  if ('records' in step) {
    await importRecords(world, step.records)
    return []
  }
  if ('rule_files' in step) {
    const { rule_files: project_rules, project, branch, script_text } = step
    const tool_input = { command: 'git push --force' }
    const body = { tool_name: 'Bash', tool_input, tool_use_id: `t${ids.size}`, project_rules, script_text }
    const answer = await openHooks(program).event('PreToolUse', body, { as: 'bob', project, branch })
    // What the operator's rules deny stays denied, as a payment does.
    return [
      {
        name: 'hook',
        params: { category: category.paid, answer },
        result: { allowed: denied(answer) === null, verdict: null },
      },
    ]
  }
  if ('reviewed' in step) {
    await review(world, step.reviewed)
    return []
  }
  if ('tools' in step)
    return Promise.all(
      step.tools.map(async ({ tool, input }) => {
        const { kind } = await judgedCall(world, tool, input)
        return { name: 'gateway', params: { tool, input }, result: { kind } }
      }),
    )
  if ('commits' in step) {
    const { event, bash } = openHooks(program)
    const sent = { as: mallory, project: 'team/app' }
    await event('UserPromptSubmit', { prompt: 'Do it' }, sent)
    await bash('git commit -m "Deploy"', step.commits, sent)
    await event('Stop', { stop_hook_active: true }, sent)
    const { decisions } = await as(mallory, 'listDecisions', { limit: 1, agent: 'mallory' })
    const [last] = decisions as { id: string }[]
    if (last && ![...ids.values()].includes(last.id)) ids.set(`@new${ids.size}`, last.id).set('@last', last.id)
    return []
  }
  if ('wait_ms' in step) {
    program.clock.now += step.wait_ms
    return []
  }
  const one = async ({ name, params, tool }: (typeof step.calls)[number]): Promise<Answered> => {
    const given = resolve(params, ids) as object
    try {
      if (!tool) return { name, params: given, result: await as(adversaries[by], name, given) }
      const call = (method: string, inner: unknown) => as(adversaries[by], method.replace('cstp.', ''), inner as object)
      const answer = await callTool(name, given, call, new AbortController().signal)
      return {
        name,
        params: given,
        result: answer?.isError ? null : ((answer?.structuredContent ?? null) as Answered['result']),
      }
    } catch (error) {
      if (typeof (error as CstpError).code !== 'number') throw error
      return { name, params: given, result: null, error: String((error as CstpError).message) }
    }
  }
  const answers = await Promise.all(step.calls.map(one))
  for (const { result } of answers) {
    const id = result?.decision_id
    if (typeof id !== 'string') continue
    if (![...ids.values()].includes(id))
      ids.set(`@new${[...ids.keys()].filter((key) => key.startsWith('@new')).length}`, id)
    ids.set('@last', id)
  }
  return answers
}

/** All methods that there are, by their short names. */
export const names = [...methods.keys()].map((name) => name.replace('cstp.', ''))

/** A word that only the adversary writes. */
export const canary = 'Kanari'
