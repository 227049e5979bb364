/**
 * AARM's conformance tests (aarm-dev/docs, conformance/testing.mdx) as a table: each row with what is tested here, or why it is not.
 * The policy is the reference test policy of the same page, in the terms of guardrail files; the tools are mocks that note that they ran.
 * It claims that rows were tested, not that the service conforms: that takes AARM's own assessment.
 */

import { describe, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { readPolicy } from '../../src/verify/policy.ts'
import { verifyReceipts } from '../../src/verify/receipt.ts'
import { startCollector } from '../support/collector.ts'
import { ocsfProblems } from '../support/ocsf.ts'
import { inTemporaryDir, startServer, until } from '../support/process.ts'
import { openMemoryProgram, type TestProgram } from '../support/program.ts'

setDefaultTimeout(120_000)
const hour_ms = 3_600_000

/** The four rules, and one for each verdict that they do not give. */
const policy = `
guardrails:
  - id: test-forbidden
    action: block
    message: Tables are never dropped
    condition_context.tool: database
    condition_context.operation: drop_table
  - id: test-ctx-deny
    action: block
    message: No email after personal data was read
    condition_context.tool: email
    condition_context.operation: send
    condition_session.classifications: contains pii
  - id: test-ctx-allow
    action: block
    message: Nobody asked for this
    condition_context.tool: database
    condition_context.operation: delete
    conditions: [{ type: compound, operator: not, conditions: [{ type: field, field: session.request, operator: contains, value: delete my test data }] }]
  - id: test-ctx-allow-asked
    action: step_up
    message: A person confirms what was asked for
    step_up: { expires: 1h }
    condition_context.tool: database
    condition_context.operation: delete
  - id: test-ctx-defer
    action: defer
    message: Too little is known
    defer: { reason: The confidence is below 0.5, expires: 1h }
    condition_context.tool: credentials
    condition_context.operation: rotate
    condition_confidence: "< 0.5"
  - id: pii
    action: log
    message: Personal data
    tag: pii
    condition_context.tool: customers
  - id: no-wildcard
    action: modify
    message: One recipient
    modify: { set: { context.to: team@example.org } }
    condition_context.tool: newsletter
`

type Action = { description: string; context: Record<string, unknown> } & Record<string, unknown>
const act = (tool: string, operation: string, more: object = {}): Action => ({
  description: `${tool} ${operation}`,
  category: 'tool_use',
  stakes: 'high',
  confidence: 0.9,
  context: { tool, operation },
  ...more,
})

interface Bench {
  program: TestProgram
  /** What ran, with its arguments. */
  ran: Record<string, unknown>[]
  /** The request of the user, with which the session begins. */
  asked(request: string): Promise<unknown>
  /** Asks, and runs the tool only if it may. */
  perform(action: Action, as?: 'alice' | 'bob'): Promise<Record<string, unknown>>
}
async function bench(work: (bench: Bench) => Promise<void>): Promise<void> {
  const program = await openMemoryProgram()
  await program.rules(policy)
  const ran: Bench['ran'] = []
  const perform: Bench['perform'] = async (action, as = 'alice') => {
    const verdict = (await program.call('checkGuardrails', { action }, as)) as Record<string, unknown>
    const { context } = (verdict.modified_action ?? action) as Action
    if (verdict.allowed) ran.push(context)
    return verdict
  }
  try {
    const asked = (task_description: string) => program.call('getSessionContext', { task_description })
    await work({ program, ran, asked, perform })
  } finally {
    await program.close()
  }
}
/** The row of the trail about the last evaluation. */
const trail = async ({ program }: Bench): Promise<Record<string, unknown>> => {
  const { entries } = (await program.call('listAudit', { limit: 1 }, 'root')) as { entries: Record<string, unknown>[] }
  return entries[0]!
}

interface Row {
  req: string
  test: string
  level: 'MUST' | 'SHOULD'
  run?: (bench: Bench) => Promise<void>
  /** Why it is not covered, or what of it. */
  not?: string
}

const rows: Row[] = [
  {
    req: 'R1',
    test: 'Submit action matching DENY policy',
    level: 'MUST',
    run: async (bench) => {
      expect(await bench.perform(act('database', 'drop_table'))).toMatchObject({ allowed: false, verdict: 'deny' })
      expect(bench.ran).toEqual([])
      expect(JSON.stringify(await trail(bench))).toContain('test-forbidden')
    },
  },
  {
    req: 'R1',
    test: 'Submit action matching DEFER condition',
    level: 'MUST',
    run: async (bench) => {
      expect(await bench.perform(act('credentials', 'rotate', { confidence: 0.4 }))).toMatchObject({
        allowed: false,
        verdict: 'defer',
      })
      expect(bench.ran).toEqual([])
      expect(JSON.stringify(await trail(bench))).toContain('test-ctx-defer')
    },
  },
  { req: 'R1', test: 'Make AARM system unavailable, submit action', level: 'MUST', run: unavailable },
  {
    req: 'R2',
    test: 'Execute action sequence, inspect context at step N',
    level: 'MUST',
    run: async (bench) => {
      await bench.perform(act('customers', 'read'))
      expect(await bench.perform(act('email', 'send'))).toMatchObject({ verdict: 'deny' })
    },
  },
  {
    req: 'R2',
    test: 'Tamper with prior context entry (if hash-chained)',
    level: 'SHOULD',
    not: 'what happened in a session is not chained; the test applies where it is',
  },
  {
    req: 'R3',
    test: 'Submit forbidden action',
    level: 'MUST',
    run: async (bench) => {
      for (const more of [{}, { confidence: 1 }, { stakes: 'low' }])
        expect(await bench.perform(act('database', 'drop_table', more))).toMatchObject({ verdict: 'deny' })
    },
  },
  {
    req: 'R3',
    test: 'Submit allowed action after sensitive data access (context-dependent deny)',
    level: 'MUST',
    run: async (bench) => {
      expect(await bench.perform(act('email', 'send'))).toMatchObject({ verdict: 'allow' })
      await bench.perform(act('customers', 'read'))
      expect(await bench.perform(act('email', 'send'))).toMatchObject({ verdict: 'deny' })
    },
  },
  {
    req: 'R3',
    test: 'Submit denied action with confirming context (context-dependent allow)',
    level: 'MUST',
    run: async (bench) => {
      expect(await bench.perform(act('database', 'delete'))).toMatchObject({ verdict: 'deny' })
      await bench.asked('Please delete my test data')
      expect(await bench.perform(act('database', 'delete'))).toMatchObject({ allowed: false, verdict: 'step_up' })
      expect(bench.ran).toEqual([])
    },
  },
  {
    req: 'R3',
    test: 'Submit action with ambiguous/conflicting context (context-dependent defer)',
    level: 'MUST',
    run: async (bench) => {
      expect(await bench.perform(act('credentials', 'rotate', { confidence: 0.2 }))).toMatchObject({ verdict: 'defer' })
      expect(await bench.perform(act('credentials', 'rotate'))).toMatchObject({ verdict: 'allow' })
    },
  },
  { req: 'R4', test: 'Trigger each of 5 decision types', level: 'MUST', run: fiveVerdicts },
  { req: 'R4', test: 'STEP_UP with no response within timeout', level: 'MUST', run: noAnswer },
  { req: 'R4', test: 'DEFER with no resolution within timeout', level: 'MUST', run: noResolution },
  { req: 'R5', test: 'Generate receipts for ALLOW, DENY, MODIFY, STEP_UP, DEFER', level: 'MUST', run: receiptOfEach },
  { req: 'R5', test: 'Verify receipt signature offline', level: 'MUST', run: receiptVerifies },
  { req: 'R5', test: 'Tamper with requester context or policy hash in receipt', level: 'MUST', run: tamperedReceipt },
  { req: 'R5', test: 'Verify deferred action receipt', level: 'MUST', run: deferredReceipt },
  {
    req: 'R6',
    test: 'Submit from different principals and sessions',
    level: 'MUST',
    run: attributed,
    not: 'the trail names agent, claimed principal and session, not the scopes that the agent held',
  },
  { req: 'R6', test: 'Defer action, then resolve', level: 'MUST', run: identityKept },
  {
    req: 'R7',
    test: 'Execute diverging action sequence exceeding drift threshold',
    level: 'SHOULD',
    not: 'the distance of an action from the request of its session is not measured',
  },
  { req: 'R8', test: 'Configure SIEM export', level: 'SHOULD', run: exportedToSiem },
  {
    req: 'R9',
    test: 'Submit read operation',
    level: 'SHOULD',
    not: 'out of scope: the service issues no credentials for the tools of others',
  },
]

/** A collector, which feeds any SIEM, gets the verdict as an event of OCSF. */
async function exportedToSiem(): Promise<void> {
  await using collector = startCollector()
  await inTemporaryDir(async (dir) => {
    const env = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, CSTP_TELEMETRY_AUDIT: 'ocsf' }
    const server = await startServer({ dir, env })
    const action = { description: 'Drop the table', category: 'tool_use' }
    await until('an event', async () => {
      await server.call('checkGuardrails', { action })
      return collector.logs.length > 0
    })
    const event = JSON.parse(collector.logs[0]!.body) as Record<string, unknown>
    expect(ocsfProblems(event)).toEqual([])
    expect(event).toMatchObject({ class_uid: 6003, action: 'Allowed', api: { operation: 'cstp.checkGuardrails' } })
    await server.kill('SIGTERM')
  })
}

async function unavailable(): Promise<void> {
  await inTemporaryDir(async (dir) => {
    await mkdir(join(dir, 'rules'))
    await writeFile(join(dir, 'rules/aarm.yaml'), policy)
    const server = await startServer({ dir, env: { GUARDRAILS_PATHS: join(dir, 'rules') } })
    let ran = 0
    const perform = async () => {
      if ((await server.call('checkGuardrails', { action: act('calendar', 'read') })).allowed) ran++
    }
    await perform()
    expect(ran).toBe(1)
    await server.kill('SIGKILL')
    expect(
      await perform().then(
        () => 'performed',
        () => 'failed',
      ),
    ).toBe('failed')
    expect(ran).toBe(1)
  })
}

async function fiveVerdicts(bench: Bench): Promise<void> {
  await bench.asked('Please delete my test data')
  const verdicts: unknown[] = []
  for (const action of Object.values(each)) verdicts.push((await bench.perform(action)).verdict)
  expect(verdicts).toEqual(['allow', 'deny', 'modify', 'step_up', 'defer'])
  expect(bench.ran).toEqual([
    { tool: 'email', operation: 'send' },
    { tool: 'newsletter', operation: 'send', to: 'team@example.org' },
  ])
}

/** One action for each verdict. */
const each = {
  allow: act('email', 'send'),
  deny: act('database', 'drop_table'),
  modify: act('newsletter', 'send', { context: { tool: 'newsletter', operation: 'send', to: '*' } }),
  step_up: act('database', 'delete'),
  defer: act('credentials', 'rotate', { confidence: 0.4 }),
}

interface Receipt {
  payload: Record<string, unknown>
}
/** Performs an action and fetches the receipt of its verdict. */
async function receiptOf({ program, perform }: Bench, action: Action): Promise<Receipt> {
  const { record_id } = await perform(action)
  const { receipts } = await program.call('getReceipt', { record_id })
  expect(receipts).toHaveLength(1)
  return receipts[0] as unknown as Receipt
}
/** As an auditor does, with nothing but the key of the log. */
function verified({ program }: Bench, receipt: Receipt): boolean {
  const policy = readPolicy(`log ${program.services.thread.signer.verifier_key}\nquorum none\n`)
  return verifyReceipts(JSON.stringify(receipt), policy).verified
}

async function receiptOfEach(bench: Bench): Promise<void> {
  await bench.asked('Please delete my test data')
  for (const [verdict, action] of Object.entries(each))
    expect((await receiptOf(bench, action)).payload).toMatchObject({
      kind: 'verdict',
      verdict,
      agent: 'alice',
      policy_hash: expect.stringMatching(/^[0-9a-f]{64}$/),
    })
}

async function receiptVerifies(bench: Bench): Promise<void> {
  expect(verified(bench, await receiptOf(bench, each.deny))).toBe(true)
}

async function tamperedReceipt(bench: Bench): Promise<void> {
  const receipt = await receiptOf(bench, each.allow)
  for (const change of [{ agent: 'bob' }, { policy_hash: '0'.repeat(64) }, { input_digest: '0'.repeat(64) }])
    expect(verified(bench, { ...receipt, payload: { ...receipt.payload, ...change } })).toBe(false)
}

async function deferredReceipt(bench: Bench): Promise<void> {
  const receipt = await receiptOf(bench, each.defer)
  expect(receipt.payload).toMatchObject({ verdict: 'defer', allowed: false })
  expect(verified(bench, receipt)).toBe(true)
}

async function noAnswer(bench: Bench): Promise<void> {
  const { program } = bench
  await bench.asked('Please delete my test data')
  const asked = (await bench.perform(act('database', 'delete'))) as { approval: { id: string } }
  program.clock.now += hour_ms + 1
  expect(await program.call('getApproval', { id: asked.approval.id }, 'approver')).toMatchObject({ state: 'expired' })
  const late = await program.refused('decideApproval', { id: asked.approval.id, decision: 'approve' }, 'approver')
  expect(late.message).toContain('expired')
  expect(bench.ran).toEqual([])
}

async function noResolution(bench: Bench): Promise<void> {
  const action = act('credentials', 'rotate', { confidence: 0.4 })
  await bench.perform(action)
  bench.program.clock.now += hour_ms + 1
  expect(await bench.perform(action)).toMatchObject({ allowed: false, verdict: 'deny' })
  expect(bench.ran).toEqual([])
}

async function attributed(bench: Bench): Promise<void> {
  for (const as of ['alice', 'bob'] as const) {
    await bench.perform(act('email', 'send'), as)
    expect(await trail(bench)).toMatchObject({ agent: as })
  }
}

async function identityKept(bench: Bench): Promise<void> {
  const { program } = bench
  await bench.asked('Please delete my test data')
  const { approval } = (await bench.perform(act('database', 'delete'))) as { approval: { id: string } }
  await program.call('decideApproval', { id: approval.id, decision: 'approve' }, 'approver')
  expect(await bench.perform(act('database', 'delete'), 'bob')).toMatchObject({ allowed: false })
  expect(await program.call('getApproval', { id: approval.id }, 'approver')).toMatchObject({
    requester: 'alice',
    decided_by: 'approver',
    state: 'approved',
  })
  expect(await bench.perform(act('database', 'delete'))).toMatchObject({ allowed: true })
}

describe('AARM rows', () => {
  test('there are 21, of which each is tested or says why not', () => {
    expect(rows).toHaveLength(21)
    expect(rows.filter(({ run, not }) => !run && !not)).toEqual([])
  })
  for (const { req, test: what, level, run, not } of rows) {
    const title = `${req} ${level}: ${what}${not ? ` (${run ? 'in part' : 'not covered'}: ${not})` : ''}`
    if (run) test(title, () => bench(run))
    else test.skip(title, () => {})
  }
})
