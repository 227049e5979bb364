/**
 * An agent's hour over MCP, with the tools alone: it starts, decides, hits a rule, gets its approval, records, opens a pull request,
 * reviews, and starts again. Every piece of what it gave is found, and GitHub's events settle its outcome.
 */
import { expect, test } from 'bun:test'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import * as gh from '../support/github.ts'
import { testDir, testServer } from '../support/process.ts'
import { overHttp, type Peer, use } from '../surfaces/mcp/peers.ts'

const tokens = { root: 'root:r00t-t0ken-of-tests', ada: 'ada:ada-t0ken-of-tests' }
const project = gh.repo
const plan = {
  description: 'Cache the price list in the shop for one minute',
  category: 'architecture',
  stakes: 'high',
  confidence: 0.8,
  project,
  context: { ticket: 'ABC-123', environment: 'staging' },
  reasons: [
    { type: 'analysis', text: 'Prices change twice a day' },
    { type: 'constraint', text: 'The supplier allows 60 calls an hour' },
  ],
  tags: ['prices', 'latency'],
  pattern: 'Cache what is read more often than it changes',
}
const thought = 'A minute is short enough for a sale that begins at noon'
const outcome = { actual_result: 'Pages take 80 ms', lessons: 'Tell the sales team about the minute' }

/** An event of the pull request, as it happens now. */
const now = ({ kind, body }: gh.Example): gh.Example => {
  const at = new Date().toISOString()
  const pull = body.pull_request as Record<string, unknown>
  const dates = Object.entries(pull).filter(([key, value]) => key.endsWith('_at') && value !== null)
  return { kind, body: { ...body, pull_request: { ...pull, ...Object.fromEntries(dates.map(([key]) => [key, at])) } } }
}

test('what an agent gives is found again, and its outcome is settled by what GitHub saw', async () => {
  const dir = await testDir()
  await mkdir(join(dir, 'rules'))
  const rule = '- { id: person, action: step_up, message: High stakes need a person, condition_stakes: high }\n'
  await writeFile(join(dir, 'rules/person.yaml'), rule)
  const env = {
    CSTP_AUTH_TOKENS: Object.values(tokens).join(','),
    GUARDRAILS_PATHS: join(dir, 'rules'),
    CSTP_GITHUB_WEBHOOK_SECRET: gh.secret,
  }
  const server = await testServer({ dir: join(dir, 'data'), env })
  const as = async (who: keyof typeof tokens, method: string, params: object) => {
    const response = await fetch(`${server.url}/cstp`, {
      method: 'POST',
      headers: { authorization: `Bearer ${tokens[who]}`, 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: `cstp.${method}`, params }),
    })
    const { result, error } = (await response.json()) as { result?: Record<string, unknown>; error?: object }
    expect([method, error]).toEqual([method, undefined])
    return result!
  }
  const start = async (): Promise<[Peer, <T>(tool: string, input?: object) => Promise<T>]> => {
    const peer = await overHttp('v2', server.url, tokens.ada)
    return [peer, (tool, input = {}) => use(peer, tool, input as Record<string, unknown>) as Promise<never>]
  }
  const deliver = async (example: gh.Example) => expect((await gh.post(server.url, now(example))).ok).toBe(true)
  type Answer = {
    allowed: boolean
    verdict: string
    approval: { id: string; state: string }
    decision_id: string
  }

  let [peer, tool] = await start()
  const first = await tool<{ markdown: string }>('get_session_context', { task_description: plan.description })
  expect(first.markdown).toContain('# ')
  await tool('query_decisions', { query: 'caching prices' })
  await tool('record_thought', { text: thought })

  // The rule asks for a person; the same call passes once there is a grant.
  const stopped = await tool<Answer>('pre_action', plan)
  expect(stopped).toMatchObject({ allowed: false, verdict: 'step_up', decision_id: null })
  await as('root', 'decideApproval', { id: stopped.approval.id, decision: 'approve', reason: 'Seen' })
  const { allowed, decision_id: id } = await tool<Answer>('pre_action', plan)
  expect(allowed).toBe(true)

  await tool('update_decision', { id, updates: { project: { pr: 7 } } })
  await deliver(gh.pullRequest('opened'))
  await tool('review_outcome', { id, outcome: 'success', ...outcome })
  await peer.close()

  // A new session knows all of it.
  ;[peer, tool] = await start()
  const { description, context, ...given } = plan
  const kept = await tool<Record<string, unknown>>('get_decision', { id })
  expect(kept).toMatchObject({
    ...given,
    ...outcome,
    decision: description,
    project: { name: project, pr: 7 },
    reasons: plan.reasons.map((reason) => expect.objectContaining(reason)),
    recorded_by: 'ada',
    self_reviewed: true,
    pre_decision_protocol: { query_run: true, guardrails_checked: true },
  })
  expect(JSON.parse(kept.context as string)).toEqual(context)
  expect(JSON.stringify(kept.deliberation)).toContain(thought)
  expect(JSON.stringify(kept.deliberation)).toContain('caching prices')
  const words = [context.ticket, 'supplier allows', 'latency', 'read more often', 'sales team', 'price list']
  for (const query of words) {
    const { decisions } = await tool<{ decisions: object[] }>('query_decisions', {
      query,
      retrieval_mode: 'keyword',
    })
    expect([query, decisions]).toMatchObject([query, [{ id, ...outcome }]])
  }
  const { markdown } = await tool<{ markdown: string }>('get_session_context', { task_description: description })
  for (const piece of [description, outcome.lessons, id]) expect(markdown).toContain(piece)

  // What GitHub saw counts more than the agent's own word, and takes nothing away.
  await deliver(gh.merged())
  const settle = { project, stability_days: 0 }
  expect(await as('root', 'attributeOutcomes', settle)).toMatchObject({
    decisions: [{ id, pr: 7, outcome: 'success', basis: 'evidence', applied: true }],
  })
  const settled = { ...outcome, outcome: 'success', self_reviewed: false, attribution_basis: 'evidence' }
  expect(await tool('get_decision', { id })).toMatchObject(settled)
  await deliver(
    gh.merged({ number: 8, title: 'Revert "Add a cache"', body: `Reverts ${project}#7`, branch: 'revert-7' }),
  )
  await as('root', 'attributeOutcomes', settle)
  expect(await tool('get_decision', { id })).toMatchObject({ ...settled, outcome: 'failure' })
  const last = await tool<{ markdown: string }>('get_session_context', { task_description: description })
  expect(last.markdown).toContain('failed, lesson')
  await peer.close()
})
