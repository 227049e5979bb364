/** Reads the settings in the order default < YAML file < environment < flag. They are declared in `table.ts`. */
import { join, resolve } from 'node:path'
import { type Document, parseDocument, type YAMLParseError } from 'yaml'
import { type Credential, type Grants, grantedScopes, type Scope, vouches } from '../../core/caller.ts'
import { causeOf } from '../../core/log.ts'
import { withoutSecrets } from '../../core/secrets.ts'
import { ownAgents } from '../../core/token-file.ts'
import { unknownVariables } from './environment.ts'
import { isPostgres, type Setting } from './read.ts'
import { settings } from './table.ts'

export { isPostgres, settings }

/** Where a setting's value came from, as `cstp config` prints it. */
export type Source = 'default' | `file ${string}` | `environment ${string}` | `flag ${string}`

type Table = typeof settings
export type SettingName = keyof Table
/** The effective value of every setting. */
export type Settings = { readonly [K in SettingName]: Table[K] extends Setting<infer T> ? T : never }
export interface Configuration {
  settings: Settings
  sources: Record<SettingName, Source>
}

/** Thrown once for all invalid settings; `problems` has one line for each. */
export class ConfigError extends Error {
  readonly problems: string[]

  constructor(problems: string[]) {
    super(`Invalid settings:\n${problems.map((line) => `  - ${line}`).join('\n')}`)
    this.name = 'ConfigError'
    this.problems = problems
  }
}

const names = Object.keys(settings) as SettingName[]

/** A value as given, with possible secrets removed. */
function received(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(withoutSecrets(value)).slice(0, 200)
  return Array.isArray(value) ? 'a list' : value !== null && typeof value === 'object' ? 'a mapping' : String(value)
}

/** Position and kind of a syntax error: the parser's own message quotes the file, which may contain secrets. */
function yamlProblem(file: string, { code, linePos }: YAMLParseError): string {
  const [start] = linePos ?? []
  const place = start ? `, line ${start.line}, column ${start.col}` : ''
  return `file ${file}${place}: invalid YAML: ${code.toLowerCase().replaceAll('_', ' ')}`
}

function plainTree(document: Document): unknown {
  try {
    return document.toJS()
  } catch {
    throw new Error('invalid YAML: an alias has no anchor; put texts that begin with * in quotes')
  }
}

/** Replaces `${VAR}` in every text of a YAML tree. */
function expand(value: unknown, env: Record<string, string | undefined>, at: string, problems: string[]): unknown {
  if (typeof value === 'string') {
    return value.replace(/\$\{([A-Za-z_][A-Za-z0-9_]*)\}/g, (_, name: string) => {
      const found = env[name]
      if (found === undefined) problems.push(`${at}: the variable ${name} is not set`)
      return found ?? ''
    })
  }
  if (Array.isArray(value)) return value.map((item, index) => expand(item, env, `${at}.${index}`, problems))
  if (value !== null && typeof value === 'object') {
    return Object.fromEntries(
      Object.entries(value).map(([key, item]) => [key, expand(item, env, at ? `${at}.${key}` : key, problems)]),
    )
  }
  return value
}

/** Flattens a YAML tree to paths of settings; an unknown path is reported as a problem. */
function flatten(tree: unknown, file: string, problems: string[]): Map<string, unknown> {
  const found = new Map<string, unknown>()
  const known = new Set(names.map((name) => settings[name].yaml))
  const visit = (node: unknown, at: string): void => {
    if (at !== '' && known.has(at)) {
      if (node !== null) found.set(at, node)
      return
    }
    const inside = [...known].filter((one) => at === '' || one.startsWith(`${at}.`))
    if (inside.length === 0) problems.push(`${at} (file ${file}): unknown setting; known are ${[...known].join(', ')}`)
    else if (node !== null && typeof node === 'object' && !Array.isArray(node)) {
      for (const [key, item] of Object.entries(node)) visit(item, at ? `${at}.${key}` : key)
    } else if (node !== null)
      problems.push(`${at || 'the file'} (file ${file}): expected a mapping with ${inside.join(', ')}`)
  }
  visit(tree, '')
  return found
}

/** Servers that share a database need the same tokens and evidence key, so these can't be generated. */
function sharedProblems(values: Partial<Settings>): string[] {
  const { store_url, provenance_db, auth_tokens, evidence_key, webhook_url, webhook_secret, oidc_issuer } = values
  const problems: string[] = []
  if (webhook_url && webhook_secret === null && values.webhook_format === 'json')
    problems.push('CSTP_WEBHOOK_SECRET: required with CSTP_WEBHOOK_URL: notices are signed')
  if (oidc_issuer === null && (values.oidc_client_id ?? values.oidc_client_secret ?? null) !== null)
    problems.push('CSTP_OIDC_ISSUER: required with CSTP_OIDC_CLIENT_ID')
  if (values.oidc_client_secret && values.oidc_client_id === null)
    problems.push('CSTP_OIDC_CLIENT_ID: required with CSTP_OIDC_CLIENT_SECRET')
  if (store_url && auth_tokens === null && oidc_issuer === null)
    problems.push(
      'CSTP_AUTH_TOKENS: required with CSTP_STORE_URL, unless CSTP_OIDC_ISSUER is set: every server needs the same tokens',
    )
  if (evidence_key === null && (store_url || isPostgres(provenance_db ?? null)))
    problems.push('CSTP_EVIDENCE_KEY: required with evidence in PostgreSQL: every server needs the same key')
  if (store_url && provenance_db && !isPostgres(provenance_db))
    problems.push('PROVENANCE_DB: with CSTP_STORE_URL the evidence must be in PostgreSQL too; received a file')
  return problems
}

/** The setting that grants each scope or role by name. */
const granting = {
  admin: 'admin_agents',
  evidence: 'evidence_agents',
  curate: 'curators',
  approve: 'approvers',
  lead: 'leads',
  auditor: 'auditors',
} as const

/** The agents that are granted each scope or role by name. */
export const grantsOf = (values: Partial<Settings>): Grants =>
  Object.fromEntries(Object.entries(granting).map(([scope, name]) => [scope, values[name] ?? []]))

type Access = Pick<Settings, 'auth_tokens' | (typeof granting)[keyof typeof granting]>

/** The agents that may call, each with its scopes. */
export function scopesOfAgents(values: Partial<Access>): { agent: string; workspace?: string; scopes: Scope[] }[] {
  const own: readonly Pick<Credential, 'agent' | 'scopes' | 'workspace'>[] = values.auth_tokens ?? ownAgents
  return own.map(({ agent, workspace, scopes }) => {
    const one = { agent, ...(workspace !== undefined && { workspace }) }
    return { ...one, scopes: grantedScopes({ ...one, scopes }, grantsOf(values)) }
  })
}

/** Scopes may only be granted to known agents, and only administrators may both write and approve. */
function accessProblems(values: Partial<Settings>, sources: Partial<Record<SettingName, Source>>): string[] {
  // Invalid tokens are already reported; without them the set of agents is unknown.
  if (values.auth_tokens === undefined) return []
  const all = scopesOfAgents(values)
  const agents = all.filter(({ workspace }) => workspace === undefined)
  const problems: string[] = []
  for (const name of Object.values(granting)) {
    const unknown = (values[name] ?? []).filter((given) => !agents.some(({ agent }) => agent === given))
    if (unknown.length > 0)
      problems.push(`${settings[name].env} (${sources[name]}): no token for ${unknown.join(', ')}`)
  }
  const mayApprove = (name: string) => agents.some(({ agent, scopes }) => agent === name && scopes.includes('approve'))
  for (const [role, members] of Object.entries(values.approver_roles ?? {})) {
    const others = members.filter((name) => !mayApprove(name))
    if (others.length > 0)
      problems.push(
        `CSTP_APPROVER_ROLES: the role ${role} names agents without the scope approve: ${others.join(', ')}`,
      )
  }
  for (const { agent, scopes } of all)
    if (vouches(scopes))
      problems.push(
        `CSTP_APPROVERS: the token of ${agent} has approve and write: only an administrator may have both; give it the scopes read and approve in the YAML file`,
      )
  return problems
}

interface FileInput {
  env: Record<string, string | undefined>
  readFile(path: string): Promise<string>
}

/** The values of a file as given, by their paths in it. */
async function valuesIn(file: string, { env, readFile }: FileInput, problems: string[]): Promise<Map<string, unknown>> {
  try {
    const document = parseDocument(await readFile(file), { prettyErrors: true, logLevel: 'error' })
    problems.push(...document.errors.map((error) => yamlProblem(file, error)))
    if (document.errors.length === 0) return flatten(expand(plainTree(document), env, '', problems), file, problems)
  } catch (error) {
    problems.push(`file ${file}: can't be read: ${causeOf(error)}`)
  }
  return new Map()
}

/** A value that was given. @returns undefined after a problem */
function readValue(name: SettingName, value: unknown, from: string, problems: string[]): unknown {
  const one: Setting<unknown> = settings[name]
  try {
    return one.read(value)
  } catch (error) {
    const shown = one.secret ? '' : `, received ${received(value)}`
    problems.push(`${from}: ${(error as Error).message}${shown}`)
    return undefined
  }
}

/**
 * The settings that a file sets, of those that it may. @throws ConfigError naming the file, each wrong value, and each that it may not set
 */
export async function settingsOfFile(
  input: FileInput & { file: string },
  allowed: readonly SettingName[],
): Promise<Partial<Settings>> {
  const problems: string[] = []
  const values: Partial<Record<SettingName, unknown>> = {}
  for (const [path, value] of await valuesIn(input.file, input, problems)) {
    const name = names.find((one) => settings[one].yaml === path)!
    const from = `${path} (file ${input.file})`
    if (!allowed.includes(name))
      problems.push(
        `${from}: is a setting of the service; this file may set ${allowed.map((one) => settings[one].yaml).join(', ')}`,
      )
    else values[name] = readValue(name, value, from, problems)
  }
  if (problems.length > 0) throw new ConfigError(problems)
  return values as Partial<Settings>
}

/**
 * Reads the settings.
 * @param input.flags values by flag name (`--port`), as given on the command line
 * @param input.readFile reads the YAML file
 * @throws ConfigError with each invalid value: its name, its source and what was expected
 */
export async function loadSettings(input: {
  env: Record<string, string | undefined>
  flags: Record<string, string>
  readFile(path: string): Promise<string>
}): Promise<Configuration> {
  const problems = [...unknownVariables(input.env)]
  const file = input.flags['--config'] ?? input.env.CSTP_CONFIG
  const fromFile = file ? await valuesIn(file, input, problems) : new Map<string, unknown>()
  const values: Record<string, unknown> = {}
  const sources: Record<string, Source> = {}
  for (const name of names) {
    const one: Setting<unknown> = settings[name]
    const fromEnv = input.env[one.env]
    const candidates: [unknown, Source][] = [
      [input.flags[one.flag], `flag ${one.flag}`],
      [fromEnv === '' ? undefined : fromEnv, `environment ${one.env}`],
      [fromFile.get(one.yaml), `file ${file} (${one.yaml})`],
    ]
    const [value, source] = candidates.find(([given]) => given !== undefined) ?? [undefined, 'default' as const]
    sources[name] = source
    const own = () => (typeof one.default === 'function' ? one.default() : one.default)
    const read = source === 'default' ? own() : readValue(name, value, `${one.env} (${source})`, problems)
    if (read !== undefined) values[name] = read
  }
  const embedder = values.embedder
  if (embedder === 'openai' && !values.embedding_model)
    problems.push('CSTP_EMBEDDING_MODEL: required for the openai embedder')
  if (embedder === 'openai' && !values.embedding_url)
    problems.push('CSTP_EMBEDDING_URL: required for the openai embedder')
  if (embedder === 'huggingface' && !values.embedding_api_key && input.env.HF_TOKEN)
    values.embedding_api_key = input.env.HF_TOKEN
  problems.push(...sharedProblems(values as Partial<Settings>))
  problems.push(...accessProblems(values as Partial<Settings>, sources))
  if (problems.length > 0) throw new ConfigError(problems)
  return { settings: values as unknown as Settings, sources: sources as Record<SettingName, Source> }
}

/** A setting's value for display, with secrets masked. */
export function shownValue(name: SettingName, value: unknown): string {
  if (value === null) return '(none)'
  if (name === 'auth_tokens') return (value as Credential[]).map(({ agent }) => `${agent}:****`).join(',')
  if (settings[name].secret) return '****'
  if (name === 'oidc_claims')
    return Object.entries(value as Settings['oidc_claims'])
      .filter(([what, claim]) => what !== 'workspace' || claim !== '')
      .map(([what, claim]) => `${what}=${claim}`)
      .join(',')
  if (name === 'approver_roles')
    return Object.entries(value as Settings['approver_roles'])
      .map(([role, agents]) => `${role}=${agents.join('+')}`)
      .join(',')
  return (Array.isArray(value) ? value : [value]).map((one) => withoutSecrets(String(one))).join(',')
}

/** A setting's default for display; empty if there is none. */
export function shownDefault(name: SettingName): string {
  const { default: own } = settings[name]
  return typeof own === 'function' ? '~/.cstp' : own === null ? '' : shownValue(name, own)
}

/** Path of the evidence database, or its address in PostgreSQL. */
export const evidencePlace = ({
  data_dir,
  provenance_db,
  store_url,
}: Pick<Settings, 'data_dir' | 'provenance_db' | 'store_url'>): string =>
  provenance_db ?? store_url ?? join(data_dir, 'provenance.db')

/** Absolute path of the folder that holds the evidence bundles. */
export const bundlesPlace = ({ bundle_dir, data_dir }: Pick<Settings, 'bundle_dir' | 'data_dir'>): string =>
  resolve(bundle_dir ?? join(data_dir, 'bundles'))
