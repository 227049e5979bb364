/**
 * The real Codex and Gemini CLI, in a home of their own, before a model that asks for one command and then ends. CSTP_AGENT_CLIENTS names the
 * folder with their packages (`node_modules`), which `.ci/run` installs beside the project.
 */
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { run } from './process.ts'

const packages = process.env.CSTP_AGENT_CLIENTS
const programs = {
  codex: '@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex',
  gemini: '@google/gemini-cli/bundle/gemini.js',
}
export type RealClient = keyof typeof programs

/** The program of a client; null if it is not installed. */
export function programOf(client: RealClient): string | null {
  const path = packages && join(packages, programs[client])
  return path && existsSync(path) ? path : null
}

interface Told {
  /** Whether the model was shown this text. */
  saw(text: string): boolean
  /** What the tool returned to the model. */
  result: string
}

type Json = Record<string, unknown>
const list = (value: unknown): Json[] => (Array.isArray(value) ? value : [])

/** Codex speaks the Responses API, as a stream. */
function responses(body: Json, command: string): { answer: Response; result: string } {
  const names = list(body.tools).map(({ name, type }) => String(name ?? type))
  const name = names.find((one) => ['exec_command', 'shell_command', 'shell'].includes(one))
  const outputs = list(body.input).filter(({ type }) => /_output$/.test(String(type)))
  const id = crypto.randomUUID()
  const args =
    name === 'shell' ? { command: ['bash', '-lc', command] } : name === 'shell_command' ? { command } : { cmd: command }
  const item =
    name && outputs.length === 0
      ? { type: 'function_call', id: `fc_${id}`, call_id: `call_${id}`, name, arguments: JSON.stringify(args) }
      : { type: 'message', id: `m_${id}`, role: 'assistant', content: [{ type: 'output_text', text: 'done' }] }
  const usage = {
    input_tokens: 1,
    input_tokens_details: null,
    output_tokens: 1,
    output_tokens_details: null,
    total_tokens: 2,
  }
  const events: Json[] = [
    { type: 'response.created', response: { id } },
    { type: 'response.output_item.done', output_index: 0, item },
    { type: 'response.completed', response: { id, usage } },
  ]
  const text = events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join('')
  const result = outputs.length > 0 ? JSON.stringify(outputs.at(-1)) : ''
  return { answer: new Response(text, { headers: { 'content-type': 'text/event-stream' } }), result }
}

/** Gemini CLI speaks generateContent. */
function content(body: Json, path: string, command: string): { answer: Response; result: string } {
  const tools = list(body.tools).flatMap((tool) => list(tool.functionDeclarations).map(({ name }) => name))
  const results = list(body.contents).flatMap(({ parts }) =>
    list(parts).filter(({ functionResponse }) => functionResponse),
  )
  const wants = tools.includes('run_shell_command') && results.length === 0
  const args = { command, description: 'Run it' }
  const parts = wants ? [{ functionCall: { name: 'run_shell_command', args } }] : [{ text: 'done' }]
  const usageMetadata = { promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2 }
  const candidates = [{ content: { role: 'model', parts }, finishReason: 'STOP', index: 0 }]
  const text = JSON.stringify({ candidates, usageMetadata })
  const stream = path.includes('stream')
  const type = stream ? 'text/event-stream' : 'application/json'
  const result = results.length > 0 ? JSON.stringify(results.at(-1)) : ''
  return { answer: new Response(stream ? `data: ${text}\n\n` : text, { headers: { 'content-type': type } }), result }
}

export interface Turn extends Told {
  /** Whether the command was run. */
  ran: boolean
  output: string
}

export interface Agent {
  /** Folder of the project. */
  project: string
  home: string
  /** Asks for one turn, in which the model wants to run `touch ran.txt`. */
  turn(env: Record<string, string>, more?: { trusted?: boolean }): Promise<Turn>
  close(): Promise<void>
}

const command = 'touch ran.txt'

export async function openAgent(client: RealClient): Promise<Agent> {
  const dir = await mkdtemp(join(tmpdir(), `cstp-${client}-`))
  const [home, project] = [join(dir, 'home'), join(dir, 'project')]
  await mkdir(join(home, '.codex'), { recursive: true })
  await mkdir(join(home, '.gemini'), { recursive: true })
  await mkdir(join(project, '.git'), { recursive: true })
  await writeFile(join(project, '.git', 'HEAD'), 'ref: refs/heads/main\n')
  let seen = ''
  let result = ''
  const model = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    async fetch(request) {
      const path = new URL(request.url).pathname
      const text = await request.text()
      if (path.includes('countTokens')) return Response.json({ totalTokens: 1 })
      if (request.method !== 'POST' || !/responses|enerateContent/.test(path)) return Response.json({}, { status: 404 })
      seen += text
      const told = client === 'codex' ? responses(JSON.parse(text), command) : content(JSON.parse(text), path, command)
      result ||= told.result
      return told.answer
    },
  })
  const url = `http://127.0.0.1:${model.port}`
  await writeFile(
    join(home, '.codex', 'config.toml'),
    `model = "gpt-5.1-codex"
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
  )
  await writeFile(
    join(home, '.gemini', 'settings.json'),
    JSON.stringify({
      security: { auth: { selectedType: 'gemini-api-key' } },
      general: { disableAutoUpdate: true, enableAutoUpdate: false },
      privacy: { usageStatisticsEnabled: false },
      telemetry: { enabled: false },
    }),
  )
  const line = (trusted: boolean): string[] =>
    client === 'codex'
      ? [
          programOf('codex')!,
          'exec',
          ...(trusted ? ['--dangerously-bypass-hook-trust'] : []),
          '--skip-git-repo-check',
          '--json',
          'make a file',
        ]
      : [
          'node',
          programOf('gemini')!,
          '-p',
          'make a file',
          '--approval-mode',
          'yolo',
          '-m',
          'gemini-2.5-flash',
          '-o',
          'json',
        ]
  return {
    project,
    home,
    async turn(env, { trusted = true } = {}) {
      seen = ''
      result = ''
      await rm(join(project, 'ran.txt'), { force: true })
      const own = {
        PATH: process.env.PATH ?? '',
        HOME: home,
        FAKE_KEY: 'x',
        GEMINI_API_KEY: 'x',
        GOOGLE_GEMINI_BASE_URL: url,
        GEMINI_CLI_TRUST_WORKSPACE: 'true',
        NO_PROXY: '127.0.0.1',
      }
      const { out, err } = await run(line(trusted), { cwd: project, env: { ...own, ...env }, input: '' })
      const text = seen
      return {
        ran: existsSync(join(project, 'ran.txt')),
        result,
        output: out + err,
        saw: (part) => text.includes(part),
      }
    },
    async close() {
      await model.stop(true)
      await rm(dir, { recursive: true, force: true })
    },
  }
}
