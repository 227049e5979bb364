/** One interface to call methods, on a server or in this process; the flags choose which. */
import type * as v from 'valibot'
import { scopes } from '../core/caller.ts'
import { isObject } from '../core/json.ts'
import { adminAgent, localAgent } from '../core/token-file.ts'
import type * as declared from '../methods/index.ts'
import { methods } from '../methods/table.ts'
import { type Flags, type Run, toggle, value } from './command.ts'
import { addressOf, type Get, openRemote, type Send } from './remote.ts'
import { openLog, print } from './terminal.ts'

type Declared = typeof declared
type MethodName = keyof Declared
export type Params<K extends MethodName> = v.InferInput<Declared[K]['params']>
export type Result<K extends MethodName> = v.InferOutput<Declared[K]['result']>

export interface Connection {
  /** Calls a method by its name without `cstp.`. */
  call<K extends MethodName>(method: K, params: Params<K>): Promise<Result<K>>
  send: Send
  /** Set only if calls go to a server. */
  get?: Get
  close(): Promise<void>
}

/** Whether a method, named with `cstp.`, is tracked as input to the agent's next decision by default. */
export const isTracked = (method: string): boolean => 'track' in (methods.get(method)?.params.entries ?? {})

/** Turns tracking off unless requested: what a person looks up in a terminal is not deliberation of the agent whose token is used. */
export const untracked =
  (send: Send): Send =>
  (method, params, signal) =>
    send(method, isTracked(method) && isObject(params) ? { track: false, ...params } : params, signal)

export const connect = (send: Send, close: () => Promise<void> = async () => {}): Connection => ({
  call: (method, params) => send(`cstp.${method}`, params) as never,
  send,
  close,
})

/** Flags of all commands that call methods. */
export const connectionFlags = {
  url: value(
    'url',
    'Server to call; by default the one at --host and --port of the settings, else that of the data directory.',
  ),
  agent: value('name', 'Agent to call as (CSTP_AGENT); by default local.'),
  token: value(
    'text',
    'Its token (CSTP_TOKEN); by default the file token or admin.token of the data directory, whichever the call needs.',
  ),
  local: toggle('Open the data directory directly, without a server and with all permissions.'),
} as const satisfies Flags

/**
 * The run as the administrator, with its token file, unless the flags or the environment name another agent, token or server: for what only a
 * person may do.
 */
export function asAdmin<R extends Run<typeof connectionFlags>>(run: R): R {
  const { flags, env } = run
  const named = flags.agent ?? flags.token ?? flags.url ?? env.CSTP_AGENT ?? env.CSTP_TOKEN
  return named === undefined ? { ...run, flags: { ...flags, agent: adminAgent } } : run
}

interface Options {
  /** Aborts calls in progress. */
  signal?: AbortSignal
  /** Reports the progress of a reindex that runs in this process. */
  reindexProgress?(done: number, total: number): void
  /** `always`: all calls are made as administrator. */
  admin?: 'always'
}

export async function openConnection(
  run: Run<typeof connectionFlags>,
  { signal, reindexProgress, admin }: Options = {},
): Promise<Connection> {
  const { flags, env } = run
  const configuration = await run.configuration()
  const { settings } = configuration
  const agent = flags.agent ?? env.CSTP_AGENT
  if (!flags.local) {
    const token = flags.token ?? env.CSTP_TOKEN
    const url = addressOf(flags.url, configuration)
    const { send, get } = await openRemote({
      url,
      agent,
      token,
      data_dir: settings.data_dir,
      env,
      admin: admin ?? 'if_needed',
      ...(signal && { signal }),
    })
    return { ...connect(untracked(send)), get }
  }
  const log = openLog(configuration, { quiet: true })
  // Loaded only here: calling a server does not need it.
  const { openProgram } = await import('../app/server.ts')
  const program = await openProgram(settings, log, reindexProgress ? { reindexProgress } : {}, { brief: true })
  const caller = { agent: agent ?? localAgent, scopes: new Set(scopes) }
  const unaborted = new AbortController().signal
  let calls = 0
  return connect(
    untracked((method, params) =>
      program.dispatch({ method, params, caller, request_id: `local-${calls++}`, signal: signal ?? unaborted }),
    ),
    async () => {
      await program.close()
      log.flush()
    },
  )
}

/** Opens a connection for some work, and closes it afterwards. An interrupted run aborts its calls. */
export async function withConnection<T>(
  run: Run<typeof connectionFlags>,
  work: (connection: Connection) => Promise<T>,
  options: Options = {},
): Promise<T> {
  const connection = await openConnection(run, { signal: run.signal, ...options })
  try {
    return await work(connection)
  } finally {
    await connection.close()
  }
}

/** Calls one method and prints its result, as JSON for programs, else as the given text. */
export async function printCall<K extends MethodName>(
  run: Run<typeof connectionFlags>,
  method: K,
  params: Params<K>,
  text: (result: Result<K>) => string,
): Promise<Result<K>> {
  const result = await withConnection(run, ({ call }) => call(method, params))
  await print(run, result, () => text(result))
  return result
}
