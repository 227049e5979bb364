/** A server in this process, on a real socket: with an agent that may do everything, and two that may read and write. */
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { loadSettings } from '../../src/app/config/config.ts'
import { type Serving, serve } from '../../src/app/server.ts'
import { createLog } from '../../src/core/log.ts'
import { everyScope } from './process.ts'

export const tokens = {
  root: 'root:r00t-t0ken-of-tests',
  ada: 'ada:ada-t0ken-of-tests',
  bob: 'bob:b0b-t0ken-of-tests',
}
export type Agent = keyof typeof tokens

export interface Running extends Serving {
  dir: string
  /** What it logged so far. */
  lines(): string
  fetch(path: string, init?: RequestInit & { as?: Agent | null }): Promise<Response>
  /** The result of a method over JSON-RPC. @throws for an error */
  call(method: string, params?: unknown, as?: Agent): Promise<Record<string, unknown>>
}

/** @param config path of a YAML file with settings */
export async function startServing(env: Record<string, string> = {}, config?: string): Promise<Running> {
  const dir = await mkdtemp(join(tmpdir(), 'cstp-serving-'))
  let text = ''
  const write = (line: string) => {
    text += line
  }
  const log = createLog({ level: 'debug', pretty: false, write, now: Date.now })
  const { settings } = await loadSettings({
    env: {
      CSTP_DATA_DIR: dir,
      CSTP_PORT: '0',
      CSTP_EMBEDDER: 'hash',
      CSTP_AUTH_TOKENS: Object.values(tokens).join(','),
      ...(env.CSTP_AUTH_TOKENS === undefined && everyScope('root')),
      ...env,
    },
    flags: config ? { '--config': config } : {},
    readFile: (path) => readFile(path, 'utf8'),
  })
  const serving = await serve(settings, log)
  const send: Running['fetch'] = (path, { as = 'ada', headers, ...init } = {}) =>
    fetch(serving.url + path, {
      ...init,
      headers: { ...(as && { authorization: `Bearer ${tokens[as]}` }), ...(headers as Record<string, string>) },
    })
  return {
    ...serving,
    dir,
    lines() {
      log.flush()
      return text
    },
    fetch: send,
    async call(method, params = {}, as = 'ada') {
      const body = JSON.stringify({ jsonrpc: '2.0', method: `cstp.${method}`, params, id: 1 })
      const response = await send('/cstp', {
        method: 'POST',
        body,
        as,
        headers: { 'content-type': 'application/json' },
      })
      const { result, error } = (await response.json()) as { result?: Record<string, unknown>; error?: unknown }
      if (!result) throw new Error(JSON.stringify(error))
      return result
    },
    async stop() {
      await serving.stop()
      await rm(dir, { recursive: true, force: true })
    },
  }
}
