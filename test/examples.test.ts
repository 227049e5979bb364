/** The examples of the documentation do what their pages say, against a service on a free port. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { chmod, cp, mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { folder, frameworkAt } from './sdk/frameworks/world.ts'
import { testNeeding } from './support/needing.ts'
import { bareEnv, cstpLine, inTemporaryDir, root, run, testDir } from './support/process.ts'
import { type Running, startServing } from './support/serving.ts'

setDefaultTimeout(120_000)

const examples = join(root, 'docs/examples')
let server: Running
beforeAll(async () => {
  const rules = ['shipped', join(examples, 'openai-agents/rules'), join(examples, 'ci/guardrails')].join(':')
  server = await startServing({ GUARDRAILS_PATHS: rules })
})
afterAll(() => server?.stop())

/** What an example finds in its environment: the service, and the command line. */
async function place(dir: string): Promise<Record<string, string>> {
  const bin = join(dir, 'bin')
  await mkdir(bin)
  const program = join(bin, 'cstp')
  await writeFile(program, `#!/bin/sh\nexec ${cstpLine} "$@"\n`)
  await chmod(program, 0o755)
  const [agent, token] = ['ada', 'ada-t0ken-of-tests']
  const path = `${bin}:${process.env.PATH}`
  return bareEnv(dir, { CSTP_URL: server.url, CSTP_AGENT: agent, CSTP_TOKEN: token, PATH: path })
}

test('AI SDK: the agent reads, may not restart, decides something else, and it is recorded with what it looked at', async () => {
  const dir = await testDir()
  const { out, err, status } = await run([process.execPath, join(examples, 'ai-sdk/agent.ts')], {
    cwd: root,
    env: await place(dir),
  })
  expect({ status, err }).toEqual({ status: 0, err: '' })
  const [read, restart, text, recorded] = out.trim().split('\n')
  expect([read, restart]).toEqual(['read_log {"service":"checkout"}', 'restart {"service":"checkout"}'])
  expect(text).toBe('Raise the connection pool of the checkout from 40 to 80')
  expect(recorded).toMatch(/^recorded, with [3-9] inputs$/)
  const { decisions } = (await server.call('listDecisions', { limit: 1 })) as { decisions: object[] }
  expect(decisions).toMatchObject([{ title: text, outcome: 'success', recorded_by: 'ada' }])
  const { entries } = (await server.call('listAudit', { limit: 20 }, 'root')) as { entries: { rules: string[] }[] }
  expect(JSON.stringify(entries)).toContain('no-production-without-review')
})

const isInstalled = frameworkAt('@openai/agents') !== null
test.skipIf(!isInstalled)(
  `OpenAI Agents SDK: a small payment passes, a large one waits${isInstalled ? '' : ' (skipped: @openai/agents is not installed)'}`,
  async () => {
    const dir = await testDir()
    const home = join(dir, 'agent')
    await cp(join(examples, 'openai-agents'), home, { recursive: true })
    await symlink(join(folder, 'node_modules'), join(home, 'node_modules'))
    const paths = {
      '@cstp/client': [join(root, 'sdk/client.ts')],
      '@cstp/client/openai-agents': [join(root, 'sdk/frameworks/openai-agents.ts')],
    }
    await writeFile(join(home, 'tsconfig.json'), JSON.stringify({ compilerOptions: { paths } }))
    const { out, err, status } = await run([process.execPath, 'agent.ts'], { cwd: home, env: await place(dir) })
    expect({ status, err }).toEqual({ status: 0, err: '' })
    expect(out).toContain('4711 is paid')
    expect(out).toContain('9000 waits for a person')
  },
)

test('Claude Code: the project is what init writes, and its script is the one of this version', async () => {
  const files = (await readdir(join(examples, 'claude-code'), { recursive: true, withFileTypes: true }))
    .filter((one) => one.isFile())
    .map(({ name }) => name)
    .sort()
  expect(files).toEqual(['.mcp.json', 'CLAUDE.md', 'README.md', 'cstp-hook.mjs', 'init.json', 'settings.json'])
  const settings = await readFile(join(examples, 'claude-code/.claude/settings.json'), 'utf8')
  expect(settings).toContain('--guard --shared')
  const script = await readFile(join(examples, 'claude-code/.cstp/cstp-hook.mjs'), 'utf8')
  expect(script).toBe(await readFile(join(root, 'plugin/hooks/cstp-hook.mjs'), 'utf8'))
})

testNeeding('grep', 'CI gate: its rules pass their table, and the gate stops what they stop', () =>
  inTemporaryDir(async (dir) => {
    const env = await place(dir)
    for (const verb of ['check', 'test'])
      expect(
        await run([join(dir, 'bin/cstp'), 'guardrails', verb, 'guardrails'], { cwd: join(examples, 'ci'), env }),
      ).toMatchObject({ status: 0 })
    const [repo, sha] = ['example/gate', 'ab'.repeat(20)]
    const ofActions = { ...env, GITHUB_REPOSITORY: repo, GITHUB_SHA: sha }
    const gateIn = (given: Record<string, string>, ...args: string[]) =>
      run(['sh', join(examples, 'ci/gate.sh'), ...args], { cwd: dir, env: given })
    const gate = (...args: string[]) => gateIn(env, ...args)
    const page = await readFile(join(examples, 'README.md'), 'utf8')
    const [, asked] = /`ci\/gate\.sh (.+?)`/.exec(page)!
    expect(await gate(...asked!.split(' '))).toMatchObject({ status: 0, out: 'allowed\n' })
    // As the workflow asks: production is allowed for a commit whose pull request was reviewed.
    const event = (event_type: string, payload: object) => ({
      ...{ event_type, ts: new Date().toISOString() },
      payload: { repo, pr_number: 7, sha, author: 'ada', ...payload },
    })
    const events = [
      event('pr_review_approved', { reviewer: 'bob', actor_is_human: true }),
      event('pr_merged', { merge_commit_sha: sha }),
    ]
    await server.call('ingestEvidence', { source: 'github', events }, 'root')
    const reviewed = await gateIn(ofActions, 'production', 'tuesday', '10', 'true')
    expect(reviewed).toMatchObject({ status: 0, out: 'allowed\n' })
    const untested = await gate('staging', 'tuesday', '10', 'false')
    expect(untested.status).toBe(1)
    expect(untested.err).toContain('"guardrail_id": "tested"')
    const friday = await gate('production', 'friday', '16', 'true')
    for (const rule of ['no-friday-evening', 'no-production-without-review']) expect(friday.err).toContain(rule)
  }),
)

testNeeding(['sed', 'cmp'], 'auditor: the bundle holds, a changed copy does not', () =>
  inTemporaryDir(async (dir) => {
    const env = await place(dir)
    const event = {
      event_type: 'pr_review_approved',
      ts: '2026-03-02T10:00:00Z',
      payload: { repo: 'example/shop', pr_number: 7, reviewer: 'reviewer-one', actor_is_human: true },
    }
    await server.call('ingestEvidence', { source: 'github', events: [event] }, 'root')
    const { json_path } = (await server.call('exportEvidenceBundle', { format: 'json' }, 'root')) as {
      json_path: string
    }
    await writeFile(join(dir, 'evidence.pub'), await (await server.fetch('/.well-known/cstp-evidence-key')).text())
    const { out, err, status } = await run(
      ['sh', join(examples, 'auditor/audit.sh'), json_path, join(dir, 'evidence.pub'), dir],
      { cwd: dir, env },
    )
    expect({ status, err: status === 0 ? '' : err + out }).toEqual({ status: 0, err: '' })
    expect(out).toContain('== the bundle is valid, the changed copy is not')
  }),
)
