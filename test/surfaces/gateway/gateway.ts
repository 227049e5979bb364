/** A service with a server of tools behind its gateway, and clients of it. */
import { existsSync, readFileSync } from 'node:fs'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { Client, type ClientOptions, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { stringify } from 'yaml'
import { type Agent, type Running, startServing, tokens } from '../../support/serving.ts'

export const toolServer = resolve(import.meta.dir, '../../support/tool-server.ts')

export interface Behind {
  serving: Running
  /** The folder of the server of tools. */
  folder: string
  /** Calls that the server has received. */
  calls(): { name: string; input: Record<string, unknown> }[]
  /** Replaces members of the server's tools from its next list on. */
  change(tools: Record<string, Record<string, unknown>>): Promise<void>
  connect(options?: { as?: Agent; client?: ClientOptions; server?: string }): Promise<Client>
  close(): Promise<void>
}

/**
 * @param rules of the service
 * @param limits of the server's entry in the settings
 */
export async function openBehind({
  rules = '[]',
  limits = {},
  more = {},
}: {
  rules?: string
  limits?: object
  more?: Record<string, object>
} = {}): Promise<Behind> {
  const folder = await mkdtemp(join(tmpdir(), 'cstp-behind-'))
  const guardrails = join(folder, 'guardrails')
  await mkdir(guardrails)
  await writeFile(join(guardrails, 'rules.yaml'), rules)
  const config = join(folder, 'cstp.yaml')
  const tools = { command: [process.execPath, toolServer, folder], ...limits }
  await writeFile(config, stringify({ gateway: { tools, ...more } }))
  const serving = await startServing({ GUARDRAILS_PATHS: guardrails, CSTP_PACKS: 'none' }, config)
  const clients: Client[] = []
  return {
    serving,
    folder,
    calls() {
      const path = join(folder, 'calls')
      // The server may be about to write a line.
      const lines = existsSync(path) ? readFileSync(path, 'utf8').split('\n').slice(0, -1) : []
      return lines.map((line) => JSON.parse(line))
    },
    change: (changed) => writeFile(join(folder, 'tools.json'), JSON.stringify(changed)),
    async connect({ as = 'ada', client: options = {}, server = 'tools' } = {}) {
      const client = new Client({ name: 'test', version: '1' }, options)
      clients.push(client)
      const requestInit = { headers: { authorization: `Bearer ${tokens[as]}` } }
      await client.connect(
        new StreamableHTTPClientTransport(new URL(`${serving.url}/gateway/${server}`), { requestInit }),
      )
      return client
    },
    async close() {
      await Promise.allSettled(clients.map((one) => one.close()))
      await serving.stop()
      await rm(serving.dir, { recursive: true, force: true })
      await rm(folder, { recursive: true, force: true })
    },
  }
}

/** The texts of a result. */
export const textsOf = (result: unknown): string =>
  ((result as { content?: { text?: string }[] }).content ?? []).map(({ text = '' }) => text).join('\n')
