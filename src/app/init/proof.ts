/** Proves that a client reaches the service: runs exactly the commands in its files, with an event of a hook and the beginning of a session of MCP. */
import { messageOf } from '../../core/log.ts'
import type { Connection } from './connection.ts'
import { clientNames, type InitClient } from './wiring.ts'

export interface Proof {
  client: InitClient
  /** How long the hook took to answer; null if it did not. */
  hook_ms: number | null
  /** The mode that the hook runs in, as its command says. */
  mode: string | null
  /** Number of tools that the MCP server offers; null if it did not answer. */
  tools: number | null
  /** What is wrong; empty if both work. */
  problems: string[]
}

interface Where {
  dir: string
  env: Record<string, string | undefined>
}

/** Clients wait 5 s for a hook. */
const hookMs = 5_000
const serverMs = 20_000

const shell = (line: string): string[] => (process.platform === 'win32' ? ['cmd', '/c', line] : ['/bin/sh', '-c', line])

/** What clients set for their hooks. */
const clientEnv = ({ dir, env }: Where) => ({ ...env, CLAUDE_PROJECT_DIR: dir, GEMINI_PROJECT_DIR: dir })

const lastLine = (text: string): string =>
  text
    .trim()
    .split('\n')
    .findLast((line) => line.trim() !== '')
    ?.replace(/^cstp: /, '') ?? ''

const check = ({ dir }: Where): string =>
  JSON.stringify({ hook_event_name: 'CstpCheck', session_id: 'cstp-check', cwd: dir })

/** Runs the command of a hook, and resolves with what it printed. */
async function runHook(command: string, where: Where): Promise<{ ms: number; out: string; why: string | null }> {
  const start = performance.now()
  const child = Bun.spawn(shell(command), {
    cwd: where.dir,
    env: clientEnv(where),
    stdin: new Blob([check(where)]),
    stdout: 'pipe',
    stderr: 'pipe',
    timeout: hookMs,
  })
  const [out, err, status] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ])
  const ms = performance.now() - start
  if (status === 0) return { ms, out, why: null }
  const why = lastLine(err) || (ms >= hookMs ? `no answer within ${hookMs / 1_000} s` : `exit status ${status}`)
  return { ms, out, why: /MODULE_NOT_FOUND|Cannot find module/.test(err) ? `its script is missing: ${command}` : why }
}

interface Answer {
  mode: string
  /** How many reports it sent that were kept. */
  reports?: number
}

async function askHook(command: string, where: Where): Promise<Answer & { ms: number }> {
  const { ms, out, why } = await runHook(command, where)
  if (why !== null) throw new Error(why)
  try {
    const answer = JSON.parse(out) as Answer
    if (typeof answer.mode === 'string') return { ...answer, ms }
  } catch {
    // What it printed is not the answer of our script.
  }
  throw new Error('it printed something else than our script does')
}

/** A report is sent at once, or kept for the next hook. */
async function proveReport(command: string, hook: string, where: Where): Promise<void> {
  const { out, why } = await runHook(command, where)
  if (why !== null) throw new Error(why)
  if (out === '' && ((await askHook(hook, where)).reports ?? 0) < 1)
    throw new Error('what it reports after a call does not arrive')
}

const requests = [
  {
    id: 1,
    method: 'initialize',
    params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'cstp-check', version: '1' } },
  },
  { method: 'notifications/initialized' },
  { id: 2, method: 'tools/list', params: {} },
]

async function proveServer([program = '', ...args]: string[], where: Where): Promise<number> {
  const child = Bun.spawn([program, ...args], {
    cwd: where.dir,
    env: clientEnv(where),
    stdin: 'pipe',
    stdout: 'pipe',
    stderr: 'pipe',
    timeout: serverMs,
  })
  const err = new Response(child.stderr).text()
  for (const one of requests) child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...one })}\n`)
  child.stdin.flush()
  try {
    let text = ''
    for await (const chunk of child.stdout.pipeThrough(new TextDecoderStream())) {
      text += chunk
      const answer = /^.*"id":2[,}].*$/m.exec(text)?.[0]
      if (answer === undefined) continue
      const { result, error } = JSON.parse(answer) as { result?: { tools: unknown[] }; error?: { message: string } }
      if (result === undefined) throw new Error(error?.message ?? 'no tools')
      return result.tools.length
    }
    throw new Error(lastLine(await err) || 'it ended without an answer')
  } finally {
    child.kill()
    await child.exited
  }
}

/** What clients fill in for the variables in their headers. @throws Error naming the one that lacks */
function credentials({ env: { CSTP_AGENT = 'local', CSTP_TOKEN } }: Where): { authorization: string } {
  if (!CSTP_TOKEN) throw new Error('CSTP_TOKEN is not set in the environment')
  return { authorization: `Bearer ${CSTP_AGENT}:${CSTP_TOKEN}` }
}

/** Asks a hook that is an address, as the client does. */
async function askAddress(url: string, where: Where): Promise<Answer & { ms: number }> {
  const headers = { ...credentials(where), 'content-type': 'application/json' }
  const start = performance.now()
  const signal = AbortSignal.timeout(hookMs)
  const { status } = await fetch(url, { method: 'POST', headers, body: check(where), signal, redirect: 'manual' })
  if (status !== 200) throw new Error(`${url} answered ${status}`)
  return { ms: performance.now() - start, mode: new URL(url).searchParams.get('mode') ?? 'enforce' }
}

async function proveAddress(url: string, where: Where): Promise<number> {
  const requestInit = { headers: credentials(where), signal: AbortSignal.timeout(serverMs) }
  const { Client, StreamableHTTPClientTransport } = await import('@modelcontextprotocol/client')
  const client = new Client({ name: 'cstp-check', version: '1' })
  try {
    await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit }))
    return (await client.listTools()).tools.length
  } finally {
    await client.close()
  }
}

/** Runs the commands of a client, and asks the addresses. */
export async function prove(
  client: InitClient,
  { hook, report, server, files }: Connection,
  where: Where,
): Promise<Proof> {
  const proof: Proof = { client, hook_ms: null, mode: null, tools: null, problems: [] }
  if (hook === null) proof.problems.push(`there is no hook in ${files.hooks}`)
  else
    try {
      const isCommand = 'command' in hook
      const { ms, mode } = await (isCommand ? askHook(hook.command, where) : askAddress(hook.url, where))
      proof.hook_ms = Math.round(ms)
      proof.mode = mode
      if (isCommand && report !== null) await proveReport(report, hook.command, where)
    } catch (error) {
      proof.problems.push(`hook: ${messageOf(error)}`)
    }
  if (server === null) proof.problems.push(`there is no MCP server cstp in ${files.server}`)
  else
    try {
      proof.tools = await ('command' in server ? proveServer(server.command, where) : proveAddress(server.url, where))
    } catch (error) {
      proof.problems.push(`MCP: ${messageOf(error)}`)
    }
  return proof
}

/** What works, as one line. */
export function proofLine({ client, hook_ms, tools, problems }: Proof): string {
  const parts = [
    hook_ms === null ? [] : [`hook answered in ${hook_ms} ms`],
    tools === null ? [] : [`MCP ${tools} tools`],
    problems,
  ]
  return `${clientNames[client]}: ${parts.flat().join(', ')}`
}
