/** What real clients do with the answers of hooks, so that a change of theirs is seen: each is connected by cstp init, and asks for one command. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Agent, openAgent, programOf, type RealClient } from '../support/agent-clients.ts'
import { bareEnv, cstp, freePort } from '../support/process.ts'
import { type Running, startServing, tokens } from '../support/serving.ts'

const rules = `
- id: no-files
  action: block
  conditions: [{ type: field, field: context.command, operator: contains, value: touch, when_missing: no_match }]
  message: No new files here
`

describe.each(['codex', 'gemini'] as const)('%s', (client: RealClient) => {
  if (programOf(client) === null) {
    test.skip(`CSTP_AGENT_CLIENTS names no folder with ${client}`, () => {})
    return
  }
  let running: Running
  let agent: Agent
  let data: string
  beforeAll(async () => {
    data = await mkdtemp(join(tmpdir(), 'cstp-data-'))
    running = await startServing({ GUARDRAILS_PATHS: data })
    agent = await openAgent(client)
    await running.call(
      'recordDecision',
      { decision: 'Files are made by the build', confidence: 0.9, category: 'process' },
      'ada',
    )
  })
  afterAll(async () => {
    await agent.close()
    await running.stop()
    await rm(data, { recursive: true, force: true })
  })
  const ada = { CSTP_AGENT: 'ada', CSTP_TOKEN: tokens.ada.split(':')[1]! }
  const connect = async (...args: string[]) => {
    const { status, err } = await cstp(['init', '--dir', agent.project, '--client', client, ...args], bareEnv(data))
    expect([status, err]).toEqual([0, ''])
  }
  const rule = async (text: string) => {
    await writeFile(join(data, 'rules.yaml'), text)
    await running.call('reloadGuardrails', {}, 'root')
  }
  const sessions = async () =>
    (await running.call('listSessions', { limit: 1 }, 'ada')).sessions as Record<string, unknown>[]

  test('an allowed call runs, the context reaches the model, and the session is recorded', async () => {
    await rule('[]')
    await connect('--enforce', '--url', running.url)
    const turn = await agent.turn(ada)
    expect([turn.ran, turn.output]).toEqual([true, expect.anything()])
    expect(turn.saw('Files are made by the build')).toBe(true)
    expect(await sessions()).toMatchObject([{ client, branch: 'main', actions: 1, errors: 0, verdicts: { allow: 1 } }])
  })

  test('a blocked call does not run, and its reason reaches the model', async () => {
    await rule(rules)
    const turn = await agent.turn(ada)
    expect(turn.ran).toBe(false)
    expect(turn.result).toContain('no-files: No new files here')
  })

  test('in shadow the same call runs, and is kept as one that would have been stopped', async () => {
    await connect('--url', running.url)
    expect(await agent.turn(ada)).toMatchObject({ ran: true })
    expect(await sessions()).toMatchObject([{ would_block: 1 }])
  })

  test('without a server the call does not run', async () => {
    await connect('--enforce', '--url', `http://127.0.0.1:${await freePort()}`)
    const turn = await agent.turn(ada)
    expect(turn.ran).toBe(false)
    expect(turn.result).toContain('judged')
  })

  if (client === 'codex')
    test('a hook that is not trusted is not run, and the service never hears it', async () => {
      await rule(rules)
      await connect('--enforce', '--url', running.url)
      const before = (await sessions())[0]!.last_at
      expect(await agent.turn(ada, { trusted: false })).toMatchObject({ ran: true })
      expect((await sessions())[0]!.last_at).toBe(before)
    })
})
