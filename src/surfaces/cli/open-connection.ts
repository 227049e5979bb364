/** The flags that say who answers a command's calls, and the connection to it. */
import type { Flags, Run } from './command.ts'
import type { Connection } from './connection.ts'
import { localCaller } from './local.ts'
import { type Get, remoteCaller, serverUrl } from './remote.ts'

/** Flags of every command that calls methods. */
export const connectionFlags = {
  url: {
    kind: 'value',
    value: 'url',
    about: 'Server to ask; by default the one on --host and --port of the settings.',
  },
  agent: { kind: 'value', value: 'name', about: 'Agent to ask as (CSTP_AGENT); by default local.' },
  token: {
    kind: 'value',
    value: 'text',
    about: 'Its token (CSTP_TOKEN); by default the one in the file token of the data directory.',
  },
  local: { kind: 'switch', about: 'Work on the data directory itself, without a server and with all rights.' },
} as const satisfies Flags

/**
 * Opens what the flags name; `get` is there where it is a server.
 * @param options.signal ends calls under way
 * @param options.reindexProgress told how far a reindex is, where this process does it
 */
export async function openConnection(
  run: Run<typeof connectionFlags>,
  options: { signal?: AbortSignal; reindexProgress?(done: number, total: number): void } = {},
): Promise<Connection & { get?: Get }> {
  const { flags, env } = run
  const configuration = await run.configuration()
  const agent = flags.agent ?? env.CSTP_AGENT
  if (flags.local) return localCaller({ configuration, agent, ...options })
  const { settings } = configuration
  return remoteCaller({
    url: serverUrl(flags.url, settings),
    agent,
    token: flags.token ?? env.CSTP_TOKEN,
    data_dir: settings.data_dir,
    ...options,
  })
}
