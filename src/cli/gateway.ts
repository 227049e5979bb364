/** cstp gateway: the program between an MCP client and a server of tools, which judges each call. */
import { upstreamOf } from '../app/config/upstreams.ts'
import type { Scope } from '../core/caller.ts'
import { localAgent } from '../core/token-file.ts'
import { aborted, defineCommand, type Run, toggle, value } from './command.ts'
import { connectionFlags } from './connection.ts'
import { Failure, misuse } from './failure.ts'
import { gatewayPins } from './gateway-pins.ts'
import { isHere, serverUrl } from './remote.ts'
import { openLog } from './terminal.ts'

const flags = {
  name: value(
    'name',
    'Name of the server: of its entry in the settings, or for rules and pins; by default derived from the command.',
  ),
  agent: connectionFlags.agent,
  project: value('owner/repo', 'Project of the calls, for rules that have a scope.'),
  shadow: toggle('Stop nothing; keep what rules would have stopped.'),
} as const

/** The name of a server by its command: the last word that names a package, a module or a program. */
export function nameOf(command: readonly string[]): string {
  const isName = (word: string) =>
    !word.startsWith('-') && !/^(?:npx|bunx|uvx|node|bun|python3?|docker|run|exec|dlx)$/.test(word)
  const word = command.find((one, at) => (at > 0 || command.length === 1 || isName(one)) && isName(one)) ?? command[0]!
  const short = word
    .replace(/(?<=.)@[\w.^~-]+$/, '')
    .split(/[/\\]/)
    .at(-1)!
    .replace(/\.\w+$/, '')
    .replace(/^(?:mcp-)?server-|^mcp-|-mcp(?:-server)?$/g, '')
    .replace(/[^\w-]/g, '-')
    .slice(0, 64)
  return /^[a-z0-9]/i.test(short) ? short : 'server'
}

/** The agent of a client that starts its servers itself. */
const scopes: ReadonlySet<Scope> = new Set(['read', 'write'])

async function run({ flags: given, words, env, configuration, signal }: Run<typeof flags>): Promise<number> {
  const { settings } = await configuration()
  const configured = given.name === undefined ? undefined : settings.gateway[given.name]
  if (words.length === 0 && configured === undefined)
    throw misuse(
      given.name === undefined
        ? 'give the server to start: cstp gateway -- npx some-server'
        : `the settings have no server ${given.name} in gateway`,
    )
  const upstream =
    words.length === 0
      ? configured!
      : upstreamOf(words, { env: Object.fromEntries(Object.entries(env).filter(([, value]) => value !== undefined)) })
  const name = given.name ?? nameOf(words)
  const url = env.CSTP_URL ? serverUrl(env.CSTP_URL, settings) : null
  if (url !== null && !isHere(url))
    throw misuse(
      `CSTP_URL names the service at ${url}, whose rules, approvals and pins do not apply to a server that is started here. Name the server in gateway of that service's settings and connect the client to ${url}/gateway/${name}; or unset CSTP_URL to judge by ${settings.data_dir}`,
    )
  const log = openLog(await configuration(), { quiet: true })
  const [{ StdioServerTransport }, { openBridge }, { bridgeTools, connectTo }, { gateWhenOpen }] = await Promise.all([
    import('@modelcontextprotocol/server/stdio'),
    import('../surfaces/gateway/bridge.ts'),
    import('../app/gateway-connect.ts'),
    import('../surfaces/gateway/gate.ts'),
  ])
  const stopping = new AbortController()
  let requests = 0
  const open = async () => {
    const [{ openProgram }, { openGate }] = await Promise.all([import('../app/server.ts'), import('../app/gateway.ts')])
    const { services, close } = await openProgram(settings, log, {}, { brief: true })
    const gate = openGate({
      services,
      name,
      upstream,
      caller: { agent: given.agent ?? env.CSTP_AGENT ?? localAgent, scopes },
      project: given.project ?? upstream.project ?? null,
      shadow: given.shadow,
      newRequestId: () => `gateway-${process.pid}-${(requests++).toString(36)}`,
      stopping: stopping.signal,
    })
    return { gate, close }
  }
  const started = Promise.withResolvers<void>()
  // The server starts first, and the data directory is opened meanwhile: some clients do not wait long for their servers.
  const opening = started.promise.then(open)
  const gate = opening.then((opened) => opened.gate)
  // Each question to the gate fails with the same error.
  gate.catch(() => {})
  try {
    const session = await openBridge({
      front: new StdioServerTransport(process.stdin, process.stdout),
      connect: async () => {
        const wire = await connectTo(upstream)
        const start = wire.start.bind(wire)
        wire.start = async () => {
          await start()
          started.resolve()
        }
        return wire
      },
      gate: gateWhenOpen(gate),
      name,
      approval_wait_ms: upstream.approval_wait * 1_000,
      ...bridgeTools(log),
    }).catch((error: Error) => {
      throw new Failure(`the server ${name} can't be started: ${error.message}`)
    })
    const ended = Promise.withResolvers<void>()
    for (const event of ['end', 'close', 'error']) process.stdin.once(event, () => ended.resolve())
    const unopened = gate.then(() => new Promise<never>(() => {}))
    await Promise.race([session.closed, ended.promise, aborted(signal), unopened]).finally(session.close)
    return 0
  } finally {
    stopping.abort(new Error('the gateway ends'))
    started.reject(new Error('the gateway ends'))
    // Why it could not be opened was thrown above.
    const opened = await opening.catch(() => null)
    await opened?.close()
    log.flush()
    process.stdin.destroy()
  }
}

export const gateway = defineCommand({
  name: 'gateway',
  usage: '[-- command…]',
  summary: 'Judge the calls of an MCP client to a server of tools.',
  about: [
    "Put `cstp gateway --` in front of a server's command in the settings of any MCP client (cstp init --gateway does). The gateway starts the server, passes on everything that the two say to each other, and judges each call of a tool by the guardrails before the server gets it. A call that can't be judged is not made.",
    'The tools are pinned when the server is first seen: a tool that is new or has changed is withheld until a person accepts it (cstp gateway pins).',
    'What passed is recorded as the gateway saw it: digests of input and result, and how the call ended. The running service does the same over HTTP for the servers that its settings name, at /gateway/<name>.',
  ],
  flags,
  verbs: [gatewayPins],
  examples: [
    ['cstp gateway -- npx -y @modelcontextprotocol/server-filesystem /srv', 'a server of files, judged'],
    ['cstp gateway pins', 'tools that wait for a person, with what changed'],
  ],
  run,
})
