/** One way to call methods, whether a server answers or this process does. */
import type * as v from 'valibot'
import { type Configuration, shownValue } from '../app/config/config.ts'
import { scopes } from '../core/caller.ts'
import { createLog } from '../core/log.ts'
import { localAgent } from '../core/token-file.ts'
import type * as declared from '../methods/index.ts'
import type { Flags, Run } from './command.ts'
import { type Get, remoteCaller, serverUrl } from './remote.ts'
import { coloured } from './terminal.ts'

type Declared = typeof declared
export type MethodName = keyof Declared
export type Params<K extends MethodName> = v.InferInput<Declared[K]['params']>
export type Result<K extends MethodName> = v.InferOutput<Declared[K]['result']>

/** Calls a method by its wire name. `signal` gives this call up. @throws CstpError where the method refuses, Failure where nothing can be reached */
export type Send = (method: string, params: unknown, signal?: AbortSignal) => Promise<unknown>

export interface Connection {
  /** Calls a method by its name without `cstp.`. */
  call<K extends MethodName>(method: K, params: Params<K>): Promise<Result<K>>
  send: Send
  /** What answers, for messages: an address or a folder. */
  where: string
  close(): Promise<void>
}

export const connect = (send: Send, where: string, close: () => Promise<void> = async () => {}): Connection => ({
  call: (method, params) => send(`cstp.${method}`, params) as never,
  send,
  where,
  close,
})

// The flags that say who answers a command's calls, and the connection to it.

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

// Calls methods in this process, on the data directory.

export async function localCaller(input: {
  configuration: Configuration
  agent: string | undefined
  signal?: AbortSignal
  reindexProgress?(done: number, total: number): void
}): Promise<Connection> {
  const { settings, sources } = input.configuration
  const log = createLog({
    // A line for each call would bury the result; who wants them says so.
    level: sources.log_level === 'default' ? 'warn' : settings.log_level,
    pretty: process.stderr.isTTY === true,
    colours: coloured(process.stderr, process.env),
    write: (text) => process.stderr.write(text),
    now: Date.now,
  })
  // Loaded only here: asking a server needs none of it.
  const { openProgram } = await import('../app/server.ts')
  const { reindexProgress } = input
  const program = await openProgram(settings, log, reindexProgress ? { reindexProgress } : {})
  const caller = { agent: input.agent ?? localAgent, scopes: new Set(scopes) }
  const signal = input.signal ?? new AbortController().signal
  let calls = 0
  return connect(
    (method, params) => program.dispatch({ method, params, caller, request_id: `local-${calls++}`, signal }),
    settings.store_url === null ? settings.data_dir : shownValue('store_url', settings.store_url),
    async () => {
      await program.close()
      log.flush()
    },
  )
}
