/** An agent's day as the bodies of its hooks, and GitHub's signed deliveries: the outcome of its commit is known, and no model was called. */
import { expect, test } from 'bun:test'
import * as gh from '../support/github.ts'
import { inTemporaryDir, startServer } from '../support/process.ts'

const tokens = { root: 'root:r00t-t0ken-of-tests', ada: 'ada:ada-t0ken-of-tests' }

/** A delivery on a pull request as of now. */
const now = ({ kind, body }: gh.Example): gh.Example => {
  const at = new Date().toISOString()
  const pull = body.pull_request as Record<string, unknown>
  const dates = Object.entries(pull).filter(([key, value]) => key.endsWith('_at') && value !== null)
  return { kind, body: { ...body, pull_request: { ...pull, ...Object.fromEntries(dates.map(([key]) => [key, at])) } } }
}

test('what a hook saw being committed is settled by the deliveries of GitHub', () =>
  inTemporaryDir(async (dir) => {
    const env = {
      CSTP_AUTH_TOKENS: Object.values(tokens).join(','),
      CSTP_ADMIN_AGENTS: 'root',
      CSTP_GITHUB_WEBHOOK_SECRET: gh.secret,
    }
    const server = await startServer({ dir, env })
    const post = async (who: keyof typeof tokens, path: string, body: object) => {
      const response = await fetch(`${server.url}${path}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${tokens[who]}`, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      })
      expect([path, response.status]).toEqual([path, 200])
      return (await response.json()) as Record<string, unknown>
    }
    const call = async (method: string, params: object) =>
      (await post('root', '/cstp', { jsonrpc: '2.0', id: 1, method: `cstp.${method}`, params })).result
    const hook = (hook_event_name: string, body: object) =>
      post('ada', `/hooks/claude-code?project=${gh.repo}`, { session_id: 's1', cwd: '/app', hook_event_name, ...body })
    const deliver = async (example: gh.Example) => expect((await gh.post(server.url, now(example))).status).toBe(200)
    try {
      const tool = { tool_name: 'Bash', tool_input: { command: 'git commit -m "Add a cache"' }, tool_use_id: 't1' }
      const stdout = `[cache ${gh.sha('first').slice(0, 7)}] Add a cache\n 1 file changed`
      await hook('SessionStart', { source: 'startup' })
      await hook('UserPromptSubmit', { prompt: 'Pages are slow: add a cache' })
      await hook('PreToolUse', tool)
      await hook('PostToolUse', { ...tool, tool_response: { stdout } })
      await hook('Stop', { stop_hook_active: true })
      await hook('SessionEnd', { reason: 'exit' })
      // It is pushed before its pull request is opened, and is not its head.
      const pushed = gh.push({ before: 'base', branch: 'cache', commits: [{ id: 'first' }, { id: 'head' }] })
      expect((await gh.post(server.url, pushed)).status).toBe(200)
      await deliver(gh.pullRequest('opened'))
      await deliver(gh.merged())
      expect(await call('attributeOutcomes', { project: gh.repo, stability_days: 0 })).toMatchObject({
        decisions: [{ pr: 7, outcome: 'success', basis: 'evidence', applied: true }],
      })
      expect(await call('listDecisions', {})).toMatchObject({
        decisions: [{ title: expect.stringContaining('Add a cache'), confidence: null, outcome: 'success' }],
      })
    } finally {
      await server.kill()
    }
  }))
