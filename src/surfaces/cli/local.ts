/** Calls methods in this process, on the data directory. */
import { type Configuration, shownValue } from '../../config.ts'
import { localAgent } from '../../token.ts'
import { scopes } from '../auth.ts'
import { createLog } from '../log.ts'
import { type Connection, connect } from './connection.ts'
import { coloured } from './terminal.ts'

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
  const { openProgram } = await import('../../server.ts')
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
