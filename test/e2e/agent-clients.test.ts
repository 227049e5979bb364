/** What real clients do with the answers of hooks, so that a change of theirs is seen: each is connected by cstp init, and asks for one command. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Agent, describeClients, openAgent, whyNot } from '../support/agent-clients.ts'
import { bareEnv, cstp, freePort, root } from '../support/process.ts'
import { type Running, startServing, tokens } from '../support/serving.ts'

const rules = `
- id: no-files
  action: block
  conditions: [{ type: field, field: context.command, operator: contains, value: touch, when_missing: no_match }]
  message: No new files here
`
const asking = rules.replace('block', 'step_up')

describeClients(['codex', 'gemini', 'claude-code', 'opencode', 'copilot'], whyNot, (client) => {
  let running: Running
  let agent: Agent
  let data: string
  beforeAll(async () => {
    data = await mkdtemp(join(tmpdir(), 'cstp-data-'))
    running = await startServing({ GUARDRAILS_PATHS: data, CSTP_HOOK_PROMPTS: 'text', CSTP_PACKS: 'irreversible' })
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
  const connectIn = async (env: Record<string, string>, ...args: string[]) => {
    const line = ['init', '--skip-proof', '--dir', agent.project, '--client', client, ...args]
    const { status, err } = await cstp(line, bareEnv(data, env))
    expect([status, err]).toEqual([0, ''])
  }
  const connect = (...args: string[]) => connectIn({}, ...args)
  const rule = async (text: string) => {
    await writeFile(join(data, 'rules.yaml'), text)
    await running.call('reloadGuardrails', {}, 'root')
  }
  const sessions = async () =>
    (await running.call('listSessions', { limit: 1 }, 'ada')).sessions as Record<string, unknown>[]

  /** Calls of the latest session that ran though denied, other than judged, and unjudged; and whether none was checked. */
  const astray = async () => {
    const [one] = await sessions()
    return [one!.ran_though_denied, one!.ran_other_than_judged, one!.ran_unjudged, one!.ungated]
  }

  test('an allowed call runs, the context reaches the model, and the session is recorded', async () => {
    await rule('[]')
    await connect('--enforce', '--url', running.url)
    const turn = await agent.turn(ada)
    expect([turn.ran, turn.output]).toEqual([true, expect.anything()])
    expect(turn.saw('Files are made by the build')).toBe(true)
    expect(await sessions()).toMatchObject([{ client, branch: 'main', actions: 1, errors: 0, verdicts: { allow: 1 } }])
    expect(await astray()).toEqual([0, 0, 0, false])
  })

  test('a blocked call does not run, and its reason reaches the model', async () => {
    await rule(rules)
    const turn = await agent.turn(ada)
    expect(turn.ran).toBe(false)
    expect(await astray()).toEqual([0, 0, 0, false])
    expect(turn.result).toContain('no-files: No new files here')
  })

  test('in shadow the same call runs, and is kept as one that would have been stopped', async () => {
    await connect('--shadow', '--url', running.url)
    expect(await agent.turn(ada)).toMatchObject({ ran: true })
    expect(await sessions()).toMatchObject([{ would_block: 1 }])
  })

  test('without a server the call does not run', async () => {
    await connect('--enforce', '--url', `http://127.0.0.1:${await freePort()}`)
    const turn = await agent.turn(ada)
    expect(turn.ran).toBe(false)
    expect(turn.result).toContain('so it was not run')
  })

  test('a hook that cannot be started stops the call', async () => {
    await rule('[]')
    await connect('--enforce', '--url', running.url)
    await rm(join(data, 'hook'), { recursive: true })
    expect(await agent.turn(ada)).toMatchObject({ ran: false, result: expect.anything() })
  })

  if (client === 'codex')
    test('it starts no command with a terminal, since no hook is asked about what is typed into one', async () => {
      await rule('[]')
      const shell = { name: 'exec_command', input: { cmd: 'touch ran.txt', tty: true } }
      await connect('--shadow', '--url', running.url)
      expect(await agent.turn(ada, { tools: [shell] })).toMatchObject({ ran: true })
      await connect('--enforce', '--url', running.url)
      const turn = await agent.turn(ada, { tools: [shell] })
      expect([turn.ran, turn.result]).toEqual([false, expect.stringContaining('TTY execution is disabled')])
    })

  if (client === 'opencode' || client === 'copilot')
    test('our own tools work, and are judged and recorded as any other: a server may take our name', async () => {
      await rule('[]')
      await connect('--enforce', '--url', running.url)
      const tool = { name: 'get_stats', input: {} }
      const turn = await agent.turn(ada, { tools: [tool] })
      expect(turn.result).toContain('total_decisions')
      expect(await sessions()).toMatchObject([{ client, actions: 1, verdicts: { allow: 1 } }])
    })

  if (client === 'claude-code' || client === 'opencode') {
    test('a call that waits for an approval passes once it is granted', async () => {
      await rule(asking)
      await connect('--enforce', '--url', running.url)
      let denied = ''
      const turn = await agent.turn(ada, {
        async meanwhile(result) {
          denied = result
          const { approvals } = await running.call('listApprovals', { state: 'pending' }, 'root')
          const [{ id }] = approvals as [{ id: string }]
          expect(result).toContain(id)
          await running.call('decideApproval', { id, decision: 'approve' }, 'root')
        },
      })
      expect(denied).toContain('no-files: No new files here')
      expect([turn.ran, turn.result]).toEqual([true, expect.not.stringContaining('no-files')])
    })

    test('a command that fails is an error, and one that a rule records a decision with what was asked and said', async () => {
      await connect('--enforce', '--url', running.url)
      await rule(rules.replace('block', 'log').replace('conditions', 'record: decision\n  conditions'))
      expect(await agent.turn(ada, { command: 'touch ran.txt && exit 3' })).toMatchObject({ ran: true })
      expect(await sessions()).toMatchObject([{ actions: 1, errors: 1 }])
      const newest = { sort: 'created_at', limit: 1 }
      const observed = async () =>
        (await running.call('listDecisions', newest, 'ada')).decisions as Record<string, unknown>[]
      expect(await observed()).toMatchObject([{ title: 'Files are made by the build' }])
      await agent.turn(ada)
      const [made] = await observed()
      expect(made).toMatchObject({ source: 'hook', confidence: null })
      expect(made!.context).toMatch(
        /^Asked: "?make a file"?\nDone: Call recorded by rule no-files: bash: touch ran.txt\nSaid: done\nObserved by the hook of /i,
      )
    })
  }

  if (client === 'claude-code') {
    test('its plugin is valid, blocks, tells, and stops the call without a server', async () => {
      const plugin = join(root, 'plugin')
      for (const folder of [plugin, root])
        expect(await agent.program('plugin', 'validate', folder)).toMatchObject({ status: 0 })
      const undone = await cstp(['init', '--dir', agent.project, '--undo'], bareEnv(data))
      expect(undone).toMatchObject({ status: 0, err: '' })
      // It is in guard mode, so a rule of ours stops nothing.
      const withPlugin = { options: ['--plugin-dir', plugin], command: 'git filter-branch --force HEAD' }
      const blocked = await agent.turn({ ...ada, CSTP_URL: running.url }, withPlugin)
      expect(blocked.result).toContain('cstp stopped this call')
      expect(blocked.saw('Files are made by the build')).toBe(true)
      const away = { ...ada, CSTP_URL: `http://127.0.0.1:${await freePort()}` }
      const unjudged = await agent.turn(away, withPlugin)
      expect([unjudged.ran, unjudged.result]).toEqual([false, expect.stringContaining('so it was not run')])
    })
  }

  if (client === 'codex' || client === 'copilot')
    test('a hook that is not trusted is not run, and the service never hears it', async () => {
      await rule(rules)
      await connect('--enforce', '--url', running.url)
      const before = (await sessions())[0]!.last_at
      expect(await agent.turn(ada, { trusted: false })).toMatchObject({ ran: true })
      expect((await sessions())[0]!.last_at).toBe(before)
    })
})
