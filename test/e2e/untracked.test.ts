/** What people look up with commands does not become the deliberation of the agent whose token they use. */
import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { bareEnv, cstp, testDir, testServer } from '../support/process.ts'

const token = 'ada:a-token-of-sixteen-characters'

test('import, export, query and call leave nothing for the next decision', async () => {
  const dir = await testDir()
  const server = await testServer({ dir, env: { CSTP_AUTH_TOKENS: token } })
  const env = bareEnv(dir, { CSTP_AGENT: 'ada', CSTP_TOKEN: token.slice(4) })
  const run = async (...args: string[]) => {
    const { status, err, out } = await cstp([...args, '--url', server.url], env)
    expect([args[0], status, err]).toEqual([args[0], 0, expect.any(String)])
    return out
  }
  const record = async (decision: string) => {
    const { decision_id: id } = await server.call('recordDecision', { decision, confidence: 0.7, category: 'ops' })
    const { deliberation, related_to, links } = await server.call('getDecision', { id })
    return { deliberation, related_to, links }
  }
  const nothing = { deliberation: null, related_to: [], links: [] }
  const file = join(dir, 'exported.jsonl')

  await run('import', 'docs/demo/decisions.jsonl')
  await run('export', '--out', file)
  await run('import', file)
  await run('query', 'deploy over ssh')
  const [{ id }] = JSON.parse(await run('call', 'listDecisions', '{"limit":1}')).decisions
  await run('call', 'getDecision', JSON.stringify({ id }))
  await run('call', 'queryDecisions', '{"query":"deploy over ssh"}')
  await run('call', 'checkGuardrails', '{"action":{"description":"deploy over ssh"}}')
  await run('call', 'getSessionContext', '{"task_description":"deploy over ssh"}')
  await run('call', 'getReasonStats')
  expect(await record('Deploy over ssh')).toEqual(nothing)
  // `track: true` makes it a part of the deliberation.
  await run('call', 'queryDecisions', '{"query":"deploy over ssh","track":true}')
  expect(await record('Deploy by hand')).not.toMatchObject({ deliberation: null })
})
