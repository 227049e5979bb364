/** A server in this process with rules of a test, and POSTs of JSON to it. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Agent, type Running, startServing } from './serving.ts'

export interface Answer {
  status: number
  headers: Headers
  // biome-ignore lint/suspicious/noExplicitAny: what came, of any form
  body: any
}

export interface Ruled {
  server: Running
  /** A POST of JSON; text is sent as it is. */
  post(path: string, body: unknown, init?: { as?: Agent | null; headers?: Record<string, string> }): Promise<Answer>
  /** Evaluations in the audit trail, the latest first. */
  trail(): Promise<Record<string, unknown>[]>
  close(): Promise<void>
}

/** @param rules text of a rule file */
export async function openRuled(rules: string, env: Record<string, string> = {}): Promise<Ruled> {
  const folder = await mkdtemp(join(tmpdir(), 'cstp-rules-'))
  await writeFile(join(folder, 'rules.yaml'), rules)
  const server = await startServing({ GUARDRAILS_PATHS: folder, ...env })
  return {
    server,
    async post(path, body, { as = 'ada', headers = {} } = {}) {
      const response = await server.fetch(path, {
        method: 'POST',
        body: typeof body === 'string' ? body : JSON.stringify(body),
        as,
        headers: { 'content-type': 'application/json', ...headers },
      })
      return { status: response.status, headers: response.headers, body: await response.json() }
    },
    async trail() {
      const { entries } = await server.call('listAudit', {}, 'root')
      return (entries as Record<string, unknown>[]).filter(({ allowed }) => allowed !== null)
    },
    async close() {
      await server.stop()
      await rm(folder, { recursive: true, force: true })
    },
  }
}
