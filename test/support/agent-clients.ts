/**
 * Agents' clients, each the real program in a home of its own, before a model that asks for one command and then ends. CSTP_AGENT_CLIENTS names
 * the folder with their packages (`node_modules`). `.ci/run` installs Codex, Gemini CLI and Claude Code there. OpenCode and Copilot CLI, and the
 * hooks of Claude Code, whose newest version they need, run in `bun run soak` where somebody has put them there, or into PATH.
 */
import { describe, test } from 'bun:test'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { content, type Model, messages, responses, type Wanted } from './agent-models.ts'
import { type Ended, run, shortLived } from './process.ts'

const packages = process.env.CSTP_AGENT_CLIENTS

/** What the user asks for by default. */
const asked = 'make a file'

interface Client {
  /** Below the folder of packages; the first that is there counts. */
  paths: string[]
  /** Its name in PATH, if it may be taken from there. */
  name?: string
  soak?: true
  model: Model
  /** Settings below its home: none of them is about hooks. */
  settings(url: string, project: string): Record<string, string>
  line(program: string, trusted: boolean): string[]
  env(url: string): Record<string, string>
}

const clients = {
  codex: {
    paths: ['@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex'],
    model: responses,
    settings: (url, project) => ({
      '.codex/config.toml': `model = "gpt-5.1-codex"
model_provider = "fake"
approval_policy = "never"
sandbox_mode = "danger-full-access"
[projects."${project}"]
trust_level = "trusted"
[model_providers.fake]
name = "fake"
base_url = "${url}/v1"
wire_api = "responses"
env_key = "FAKE_KEY"
requires_openai_auth = false
`,
    }),
    line: (program, trusted) => [
      program,
      'exec',
      ...(trusted ? ['--dangerously-bypass-hook-trust'] : []),
      '--skip-git-repo-check',
      '--json',
      asked,
    ],
    env: () => ({ FAKE_KEY: 'x' }),
  },
  gemini: {
    paths: ['@google/gemini-cli/bundle/gemini.js'],
    model: content,
    settings: () => ({
      '.gemini/settings.json': JSON.stringify({
        security: { auth: { selectedType: 'gemini-api-key' } },
        general: { disableAutoUpdate: true, enableAutoUpdate: false },
        privacy: { usageStatisticsEnabled: false },
        telemetry: { enabled: false },
      }),
    }),
    line: (program) => [
      'node',
      program,
      '-p',
      asked,
      '--approval-mode',
      'yolo',
      '-m',
      'gemini-2.5-flash',
      '-o',
      'json',
    ],
    env: (url) => ({
      GEMINI_API_KEY: 'x',
      GOOGLE_GEMINI_BASE_URL: url,
      GEMINI_CLI_TRUST_WORKSPACE: 'true',
      // It starts itself a second time, for more memory.
      GEMINI_CLI_NO_RELAUNCH: 'true',
    }),
  },
  'claude-code': {
    paths: ['@anthropic-ai/claude-code-linux-x64/claude', '.bin/claude'],
    name: 'claude',
    soak: true,
    model: messages,
    settings: () => ({}),
    // The user is asked nothing: whatever stops a call is a hook.
    line: (program) => [program, '-p', asked, '--model', 'claude-sonnet-5', '--dangerously-skip-permissions'],
    env: (url) => ({
      ANTHROPIC_BASE_URL: url,
      ANTHROPIC_API_KEY: 'x',
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
      DISABLE_AUTOUPDATER: '1',
      // Its permissions can be skipped by root.
      IS_SANDBOX: '1',
    }),
  },
  opencode: {
    paths: ['opencode-linux-x64/bin/opencode', '.bin/opencode'],
    name: 'opencode',
    soak: true,
    model: messages,
    settings: (url) => ({
      '.config/opencode/opencode.json': JSON.stringify({
        model: 'anthropic/claude-sonnet-4-5',
        autoupdate: false,
        share: 'disabled',
        provider: {
          anthropic: {
            options: { baseURL: `${url}/v1`, apiKey: 'x' },
            models: { 'claude-sonnet-4-5': { name: 'Model', tool_call: true } },
          },
        },
      }),
    }),
    line: (program) => [program, 'run', '--format', 'json', asked],
    env: () => ({
      OPENCODE_DISABLE_AUTOUPDATE: '1',
      OPENCODE_DISABLE_DEFAULT_PLUGINS: '1',
      OPENCODE_DISABLE_LSP_DOWNLOAD: '1',
      OPENCODE_DISABLE_MODELS_FETCH: '1',
    }),
  },
  copilot: {
    paths: ['@github/copilot-linux-x64/copilot', '.bin/copilot'],
    name: 'copilot',
    soak: true,
    model: messages,
    settings: () => ({}),
    // Hooks run in a folder that the user trusts; elsewhere it says nothing of them.
    line: (program, trusted) => [
      ...(trusted ? ['env', 'COPILOT_ALLOW_ALL=true'] : []),
      program,
      '-p',
      asked,
      '--allow-all-tools',
    ],
    env: (url) => ({
      COPILOT_OFFLINE: 'true',
      COPILOT_AUTO_UPDATE: 'false',
      COPILOT_PROVIDER_BASE_URL: url,
      COPILOT_PROVIDER_TYPE: 'anthropic',
      COPILOT_PROVIDER_API_KEY: 'x',
      COPILOT_MODEL: 'claude-sonnet-4.5',
    }),
  },
} satisfies Record<string, Client>
export type RealClient = keyof typeof clients

/** The program of a client; null if it is not installed. */
function programOf(client: RealClient): string | null {
  const { paths, name }: Client = clients[client]
  const found = packages && paths.map((path) => join(packages, path)).find((path) => existsSync(path))
  return found || (name ? Bun.which(name) : null)
}

/** Why a client can't be tested here; null if it can. @param always though its hooks are tested in `bun run soak` only */
export function whyNot(client: RealClient, always = false): string | null {
  const { name, soak }: Client = clients[client]
  if (soak && !always && process.env.CSTP_SOAK !== '1') return `${client} runs in bun run soak`
  if (programOf(client) !== null) return null
  return name ? `neither CSTP_AGENT_CLIENTS nor PATH has ${name}` : `CSTP_AGENT_CLIENTS names no folder with ${client}`
}

/** The tests of each client; in their place a skip with the reason, where there is one not to test it. */
export function describeClients<C extends RealClient>(
  names: readonly C[],
  why: (client: C) => string | null,
  tests: (client: C) => void,
): void {
  describe.each([...names])('%s', (client) => {
    const reason = why(client)
    if (reason === null) tests(client)
    else test.skip(reason, () => {})
  })
}

export interface Turn {
  /** Whether the model was shown this text. */
  saw(text: string): boolean
  /** What the tool returned to the model, at last. */
  result: string
  /** What each call of a tool returned. */
  results: string[]
  /** Whether the command was run. */
  ran: boolean
  output: string
}

interface How {
  trusted?: boolean
  /** What the model wants to run, instead of `touch ran.txt`. */
  command?: string
  /** Tools that the model wants instead, one after the other. */
  tools?: readonly Wanted[]
  /** What the user asks for. */
  prompt?: string
  /** Options of its command line. */
  options?: string[]
  /** Called with what the tool returned; then the model asks for the same once more. */
  meanwhile?(result: string): Promise<void>
}

export interface Agent {
  /** Folder of the project. */
  project: string
  home: string
  /** Asks for one turn, in which the model wants to run `touch ran.txt`. */
  turn(env: Record<string, string>, how?: How): Promise<Turn>
  /** Runs its program with these arguments. */
  program(...args: string[]): Promise<Ended>
  close(): Promise<void>
}

export async function openAgent(name: RealClient): Promise<Agent> {
  const client: Client = clients[name]
  const program = programOf(name)!
  const dir = await mkdtemp(join(tmpdir(), `cstp-${name}-`))
  const [home, project] = [join(dir, 'home'), join(dir, 'project')]
  await mkdir(join(project, '.git'), { recursive: true })
  await writeFile(join(project, '.git', 'HEAD'), 'ref: refs/heads/main\n')
  let seen = ''
  let results: string[] = []
  let meanwhile: How['meanwhile']
  let times = 1
  let command = ''
  let tools: How['tools']
  const model = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    async fetch(request) {
      const path = new URL(request.url).pathname
      const text = await request.text()
      if (path.includes('countTokens')) return Response.json({ totalTokens: 1 })
      if (path.includes('count_tokens')) return Response.json({ input_tokens: 1 })
      if (request.method !== 'POST' || !client.model.path.test(path)) return Response.json({}, { status: 404 })
      seen += text
      const told = client.model.reply({ body: JSON.parse(text), path, command, times, ...(tools && { tools }) })
      if (told.results.length > results.length) {
        results = told.results
        if (results.length === 1) await meanwhile?.(results[0]!)
      }
      return told.answer
    },
  })
  const url = `http://127.0.0.1:${model.port}`
  for (const [path, text] of Object.entries(client.settings(url, project))) {
    await mkdir(dirname(join(home, path)), { recursive: true })
    await writeFile(join(home, path), text)
  }
  const own = {
    PATH: process.env.PATH ?? '',
    HOME: home,
    NO_PROXY: '127.0.0.1',
    // Of its hooks, which it starts.
    ...shortLived,
    ...client.env(url),
  }
  return {
    project,
    home,
    async turn(env, how = {}) {
      seen = ''
      results = []
      meanwhile = how.meanwhile
      times = meanwhile ? 2 : 1
      command = how.command ?? 'touch ran.txt'
      tools = how.tools
      await rm(join(project, 'ran.txt'), { force: true })
      const words = client.line(program, how.trusted ?? true)
      const line = [...words.map((word) => (word === asked ? (how.prompt ?? asked) : word)), ...(how.options ?? [])]
      const { out, err } = await run(line, { cwd: project, env: { ...own, ...env }, input: '' })
      const text = seen
      return {
        ran: existsSync(join(project, 'ran.txt')),
        result: results.at(-1) ?? '',
        results,
        output: out + err,
        saw: (part) => text.includes(part),
      }
    },
    program: (...args) => run([program, ...args], { cwd: project, env: own, input: '' }),
    async close() {
      await model.stop(true)
      await rm(dir, { recursive: true, force: true })
    },
  }
}
