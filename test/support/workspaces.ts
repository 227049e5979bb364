/** A server in this process with workspaces, and the same agents in each and in the default one. */
import { generateKeyPairSync } from 'node:crypto'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { stringify } from 'yaml'
import { freshSchema, type Postgres } from './postgres.ts'
import { testDir } from './process.ts'
import { callers } from './program.ts'
import { type Running, startServing } from './serving.ts'

export const defaultOne = 'default'

export const tokenOf = (where: string, agent: string): string => `token-of-${agent}-in-${where}`

export interface Company extends Running {
  /** The answer to a request as an agent of a workspace. */
  as(where: string, agent: string, path: string, init?: RequestInit): Promise<Response>
  /** The answer to a method, whatever it is. */
  rpc(where: string, agent: string, method: string, params: unknown): Promise<Record<string, unknown>>
}

/** @param files settings of the workspaces, by name; null for those that only tokens name */
export async function startCompany(
  files: Record<string, object | null>,
  env: Record<string, string> = {},
): Promise<Company> {
  const dir = await testDir()
  await mkdir(join(dir, 'workspaces'))
  for (const [name, settings] of Object.entries(files))
    if (settings !== null) await writeFile(join(dir, 'workspaces', `${name}.yaml`), stringify(settings))
  const tokens = [defaultOne, ...Object.keys(files)].flatMap((where) =>
    Object.values(callers).map(({ agent, scopes }) => ({
      ...{ agent, token: tokenOf(where, agent), scopes: [...scopes] },
      ...(where !== defaultOne && { workspace: where }),
    })),
  )
  const config = join(dir, 'cstp.yaml')
  await writeFile(config, stringify({ auth: { tokens } }))
  const rules = join(dir, 'rules')
  await mkdir(rules)
  const stepUp = { id: 'pay', action: 'step_up', message: 'Payments need a person', condition_category: 'payment' }
  await writeFile(join(rules, 'pay.yaml'), stringify([stepUp]))
  const own = { CSTP_DATA_DIR: dir, CSTP_AUTH_TOKENS: '', CSTP_RATE_LIMIT: '0', GUARDRAILS_PATHS: rules, ...env }
  const server = await startServing(own, config)
  const as: Company['as'] = (where, agent, path, init = {}) =>
    fetch(server.url + path, {
      ...init,
      headers: { authorization: `Bearer ${agent}:${tokenOf(where, agent)}`, ...(init.headers as object) },
    })
  return {
    ...server,
    dir,
    as,
    async rpc(where, agent, method, params) {
      const body = JSON.stringify({ jsonrpc: '2.0', method: `cstp.${method}`, params, id: 1 })
      const headers = { 'content-type': 'application/json' }
      return (await (await as(where, agent, '/cstp', { method: 'POST', body, headers })).json()) as never
    },
  }
}

/** Settings of a service on a schema and with a key of its own. */
export async function onPostgres(database: Postgres): Promise<{ CSTP_STORE_URL: string; CSTP_EVIDENCE_KEY: string }> {
  const key = join(await testDir(), 'evidence.pem')
  const pem = generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' })
  await writeFile(key, pem, { mode: 0o600 })
  return { CSTP_STORE_URL: freshSchema(database), CSTP_EVIDENCE_KEY: key }
}
