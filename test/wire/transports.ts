/** The transports of the service: plain HTTP, the published client, the command line. */
import { type Client, createClient, isCstpError } from '../../sdk/client.ts'
import { loadSettings } from '../../src/app/config/config.ts'
import { call as callCommand } from '../../src/cli/call.ts'
import { isTracked } from '../../src/cli/connection.ts'
import { errorJson } from '../../src/cli/failure.ts'
import type { Paint } from '../../src/cli/terminal.ts'
import { isObject } from '../../src/core/json.ts'
import type { As } from '../support/program.ts'
import type { Outcome, SeenError, TransportKind } from './replay.ts'

export const http: TransportKind = {
  name: 'HTTP',
  async open({ url, token }) {
    let id = 0
    return {
      async call(as, method, params) {
        const response = await fetch(`${url}/cstp`, {
          method: 'POST',
          headers: { authorization: `Bearer ${as}:${token(as)}`, 'content-type': 'application/json' },
          body: JSON.stringify({ jsonrpc: '2.0', method: `cstp.${method}`, params, id: ++id }),
        })
        const answer = (await response.json()) as { jsonrpc: string; id: number; result?: unknown; error?: SeenError }
        if (answer.jsonrpc !== '2.0' || answer.id !== id) throw new Error(`no answer: ${JSON.stringify(answer)}`)
        const status = { [-32001]: 403, [-32010]: 503 }[answer.error?.code ?? 0] ?? 200
        if (response.status !== status) throw new Error(`HTTP ${response.status}`)
        return answer.error ? { error: { data: undefined, ...answer.error } } : { result: answer.result }
      },
    }
  },
}

export const client: TransportKind = {
  name: 'client',
  async open({ url, token }) {
    const clients = new Map<As, Client>()
    return {
      async call(as, method, params) {
        const own = clients.get(as) ?? createClient({ url, agent: as, token: token(as), retry: false })
        clients.set(as, own)
        const functions = own as unknown as Record<string, ((params: unknown) => Promise<unknown>) | undefined>
        try {
          return { result: await (functions[method]?.(params) ?? own.call(method, params as object)) }
        } catch (error) {
          if (!isCstpError(error)) throw error
          return { error: { code: error.code, message: error.message, data: error.data } }
        }
      },
    }
  },
}

const plain = (text: string): string => text
const paint: Paint = { bold: plain, dim: plain, red: plain, green: plain, yellow: plain, cyan: plain }

/** Commands enter no deliberation unless `track` is set; a case is the call of an agent. */
const spelt = (method: string, params: unknown): unknown =>
  isTracked(`cstp.${method}`) && isObject(params) ? { track: true, ...params } : params

export const commandLine: TransportKind = {
  name: 'cstp call',
  async open({ url, token }) {
    const env = {}
    return {
      async call(as, method, params): Promise<Outcome> {
        let printed = ''
        const terminal = {
          width: 100,
          live: false,
          noteWidth: 100,
          paint,
          notePaint: paint,
          note: () => {},
          out: async (text: string) => {
            printed += text
          },
        }
        try {
          await callCommand.run!({
            flags: { url, agent: as, token: token(as), local: false },
            words: [method, JSON.stringify(spelt(method, params))],
            json: true,
            terminal,
            env,
            configuration: () => loadSettings({ env, flags: {}, readFile: () => Promise.reject(new Error('no file')) }),
            signal: new AbortController().signal,
          })
          return { result: JSON.parse(printed) }
        } catch (error) {
          const told = errorJson(error).error as SeenError
          if (told.code === undefined) throw error
          return { error: { data: undefined, ...told } }
        }
      },
    }
  },
}
