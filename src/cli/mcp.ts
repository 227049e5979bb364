/** cstp mcp: serves the tools over stdin and stdout to an MCP client that starts its servers as processes. */
import { CstpError } from '../../sdk/errors.ts'
import type { Dispatch } from '../calls/dispatch.ts'
import type { Scope } from '../core/caller.ts'
import type { Log } from '../core/log.ts'
import { localAgent } from '../core/token-file.ts'
import { defineCommand, type Run, toggle, value } from './command.ts'
import { connectionFlags } from './connection.ts'
import { Failure } from './failure.ts'
import { addressOf, openRemote } from './remote.ts'
import { openLog } from './terminal.ts'

const { agent, token } = connectionFlags
const flags = {
  url: value('url', 'Server to forward the calls to; without it the data directory is opened.'),
  service: toggle('Forward the calls to the service of the data directory, which is started if it does not run.'),
  agent,
  token: { ...token, about: 'Token of the agent at the server (CSTP_TOKEN).' },
} as const

interface Backend {
  dispatch: Dispatch
  max_message_bytes: number
  close(): Promise<void>
}

/** A client has the scopes of an agent, none of an administrator. */
const scopes: ReadonlySet<Scope> = new Set(['read', 'write'])

/** Forwards calls to a server, as the agent of the token. */
async function forward(run: Run<typeof flags>): Promise<Backend> {
  const configuration = await run.configuration()
  const { settings } = configuration
  const remote = await openRemote({
    url: addressOf(run.flags.url, configuration),
    agent: run.flags.agent ?? run.env.CSTP_AGENT,
    token: run.flags.token ?? run.env.CSTP_TOKEN,
    data_dir: settings.data_dir,
    env: run.env,
    session: crypto.randomUUID(),
  })
  return {
    async dispatch({ method, params, signal, caller }) {
      try {
        return await remote.send(method, params, signal, caller.mcp)
      } catch (error) {
        if (error instanceof Failure) throw new CstpError('internal_error', error.message, undefined, { cause: error })
        throw error
      }
    },
    max_message_bytes: settings.max_body_bytes,
    close: async () => {},
  }
}

/** Handles calls in this process on the data directory; servers may run on the same one. */
async function openHere(run: Run<typeof flags>, log: Log): Promise<Backend> {
  const { settings } = await run.configuration()
  const { openProgram } = await import('../app/server.ts')
  const { dispatch, close } = await openProgram(settings, log)
  return { dispatch, max_message_bytes: settings.max_body_bytes, close }
}

export const mcp = defineCommand({
  name: 'mcp',
  summary: 'Serve an MCP client over stdin and stdout.',
  about: [
    'For clients that start their servers themselves, such as Claude Desktop and Claude Code. It opens the data directory, which a server may use at the same time, and ends when the client closes stdin.',
    'With --url it forwards the calls to a running server instead, as the agent of --agent and --token; with --service to that of the data directory. cstp init writes this.',
    'Logs go to stderr; stdout is for the protocol.',
  ],
  flags,
  examples: [
    ['cstp mcp --agent planner', 'tools on the data in ~/.cstp, as agent planner'],
    ['CSTP_TOKEN=secret cstp mcp --url https://cstp.example --agent planner', 'the same tools on a server elsewhere'],
  ],
  async run(run) {
    const log = openLog(await run.configuration(), { quiet: true })
    const { url, service } = run.flags
    const { data_dir } = (await run.configuration()).settings
    const [backend, { serveMcpStdio }, notice] = await Promise.all([
      url === undefined && !service ? openHere(run, log) : forward(run),
      import('../surfaces/mcp/stdio.ts'),
      // A client whose hooks are turned off begins its session here only.
      import('../app/init/changed.ts').then(({ changedSince }) => changedSince(data_dir, process.cwd())),
    ])
    let requests = 0
    try {
      await serveMcpStdio({
        caller: { agent: run.flags.agent ?? run.env.CSTP_AGENT ?? localAgent, scopes, session: crypto.randomUUID() },
        dispatch: backend.dispatch,
        newRequestId: () => `mcp-${process.pid}-${(requests++).toString(36)}`,
        stdin: process.stdin,
        stdout: process.stdout,
        max_message_bytes: backend.max_message_bytes,
        signal: run.signal,
        log,
        notice,
      })
      return 0
    } finally {
      await backend.close()
      log.flush()
    }
  },
})
