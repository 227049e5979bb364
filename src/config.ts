/** Every setting once: its names, default, meaning and form. Read in the order default < YAML file < environment < flag. */
import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseDocument } from 'yaml'
import { type Credential, parseTokens, type Scope, scopes } from './surfaces/auth.ts'

/** Where a setting's value came from, as `cstp config` prints it. */
export type Source = 'default' | `file ${string}` | `environment ${string}` | `flag ${string}`

interface Setting<T> {
  /** Path in the YAML file. */
  yaml: string
  env: string
  flag: string
  default: T | (() => T)
  /** One sentence for the reference and the help. */
  about: string
  secret?: boolean
  /** Reads a value of the YAML file or a text. @throws Error whose message says what was expected */
  read(value: unknown): T
}

const expected = (what: string): never => {
  throw new Error(`expected ${what}`)
}

const text = (value: unknown): string =>
  typeof value === 'string' && value.trim() !== '' ? value.trim() : expected('text that is not empty')

const path = (value: unknown): string => {
  const given = text(value)
  return resolve(given.startsWith('~/') ? join(homedir(), given.slice(2)) : given)
}

const whole = (min: number, max: number) => (value: unknown) => {
  const number = typeof value === 'string' && /^\d+$/.test(value.trim()) ? Number(value) : value
  if (typeof number === 'number' && Number.isSafeInteger(number) && number >= min && number <= max) return number
  return expected(`a whole number from ${min} to ${max}`)
}

const oneOf =
  <const T extends string>(...values: T[]) =>
  (value: unknown): T =>
    values.find((one) => one === value) ?? expected(`one of ${values.join(', ')}`)

const list = (value: unknown): string[] => {
  const parts = typeof value === 'string' ? value.split(',') : value
  if (!Array.isArray(parts)) return expected('a list, or text separated by commas')
  return parts.map((part) => text(part))
}

/** Directories, separated by colons or as a list. */
const paths = (value: unknown): string[] => list(typeof value === 'string' ? value.split(':') : value).map(path)

const url =
  (...protocols: string[]) =>
  (value: unknown): string => {
    const given = text(value)
    if (!URL.canParse(given) || !protocols.includes(new URL(given).protocol.slice(0, -1))) {
      return expected(`a URL of ${protocols.join(' or ')}`)
    }
    return given.replace(/\/$/, '')
  }

/** A folder or an s3:// address. */
const vectorUrl = (value: unknown): string => {
  const given = text(value)
  if (!given.includes('://')) return path(given)
  return given.startsWith('s3://') ? given : expected('a folder or an s3:// address')
}

const credentials = (value: unknown): Credential[] => {
  if (typeof value === 'string') return parseTokens(value)
  if (!Array.isArray(value) || value.length === 0) return expected('agent:token pairs separated by commas, or a list')
  return parseTokens(
    value.map((entry: unknown, index) => {
      const at = `entry ${index + 1}`
      if (entry === null || typeof entry !== 'object') throw new Error(`${at}: expected a mapping`)
      const { agent, token, token_sha256, scopes: given, ...rest } = entry as Record<string, unknown>
      const [unknown] = Object.keys(rest)
      if (unknown) throw new Error(`${at}: unknown key ${unknown}; known are agent, token, token_sha256, scopes`)
      if (given !== undefined && (!Array.isArray(given) || given.some((scope) => !scopes.includes(scope)))) {
        throw new Error(`${at}: scopes: expected a list of ${scopes.join(', ')}`)
      }
      const own = { agent, token, token_sha256 }
      for (const [key, one] of Object.entries(own))
        if (one !== undefined && typeof one !== 'string') throw new Error(`${at}: ${key}: expected text, in quotes`)
      return {
        ...(own as { agent?: string; token?: string; token_sha256?: string }),
        agent: (agent as string) ?? '',
        scopes: given as Scope[] | undefined,
      }
    }),
  )
}

const setting = <T>(
  yaml: string,
  env: string,
  fallback: T | (() => T),
  read: (value: unknown) => T,
  about: string,
  secret = false,
): Setting<T> => ({
  yaml,
  env,
  flag: `--${env
    .replace(/^CSTP_/, '')
    .toLowerCase()
    .replaceAll('_', '-')}`,
  default: fallback,
  read,
  about,
  secret,
})

const optional =
  <T>(read: (value: unknown) => T) =>
  (value: unknown): T | null =>
    read(value)

export const settings = {
  data_dir: setting(
    'data_dir',
    'CSTP_DATA_DIR',
    () => join(homedir(), '.cstp'),
    path,
    'Folder of everything embedded: decisions, catalogue, token.',
  ),
  host: setting('server.host', 'CSTP_HOST', '127.0.0.1', text, 'Address to listen on.'),
  port: setting(
    'server.port',
    'CSTP_PORT',
    9991,
    whole(0, 65535),
    'Port to listen on; 0 takes a free one and prints it.',
  ),
  public_url: setting(
    'server.public_url',
    'CSTP_PUBLIC_URL',
    null,
    optional(url('http', 'https')),
    'Address in the agent card, where it is not the listening one.',
  ),
  cors_origins: setting(
    'server.cors_origins',
    'CSTP_CORS_ORIGINS',
    ['*'],
    list,
    'Origins that browsers may call from, separated by commas.',
  ),
  max_body_bytes: setting(
    'server.max_body_bytes',
    'CSTP_MAX_BODY_BYTES',
    4_194_304,
    whole(1_024, 1_073_741_824),
    'Largest request body in bytes; agents with the evidence scope may send 16 MiB.',
  ),
  rate_limit: setting(
    'server.rate_limit',
    'CSTP_RATE_LIMIT',
    6_000,
    whole(0, 1_000_000_000),
    'Requests a minute for each agent; 0 for no limit.',
  ),
  trust_proxy: setting(
    'server.trust_proxy',
    'CSTP_TRUST_PROXY',
    0,
    whole(0, 32),
    'Hops of X-Forwarded-For to trust when failed logins are counted.',
  ),
  auth_tokens: setting(
    'auth.tokens',
    'CSTP_AUTH_TOKENS',
    null,
    optional(credentials),
    'Accepted agent:token pairs, separated by commas; without any, a token for agent local is made at the first start.',
    true,
  ),
  admin_agents: setting(
    'auth.admin_agents',
    'CSTP_ADMIN_AGENTS',
    null,
    optional(list),
    'Agents that also have the admin scope; by default the first one of the tokens.',
  ),
  evidence_agents: setting(
    'auth.evidence_agents',
    'CSTP_EVIDENCE_AGENTS',
    null,
    optional(list),
    'Agents that also have the evidence scope; by default the first one of the tokens.',
  ),
  vector_url: setting(
    'vectors.url',
    'CSTP_VECTOR_URL',
    null,
    optional(vectorUrl),
    'Vector database: a folder or s3:// for LanceDB; by default exact search over vectors kept in the catalogue.',
  ),
  embedder: setting(
    'embedder.driver',
    'CSTP_EMBEDDER',
    'local',
    oneOf('local', 'huggingface', 'openai', 'hash'),
    'What turns text into vectors: the model in this program, a remote one, or hash for tests.',
  ),
  embedding_model: setting(
    'embedder.model',
    'CSTP_EMBEDDING_MODEL',
    null,
    optional(text),
    'Model of a remote embedder; it must return 768 dimensions.',
  ),
  embedding_url: setting(
    'embedder.url',
    'CSTP_EMBEDDING_URL',
    null,
    optional(url('http', 'https')),
    'Address of a remote embedder.',
  ),
  embedding_api_key: setting(
    'embedder.api_key',
    'CSTP_EMBEDDING_API_KEY',
    null,
    optional(text),
    'Key of a remote embedder; for huggingface HF_TOKEN is taken where this is not given.',
    true,
  ),
  guardrails_paths: setting(
    'guardrails.paths',
    'GUARDRAILS_PATHS',
    null,
    optional(paths),
    'Directories of guardrail files, separated by colons; the shipped rules where not given.',
  ),
  record_guardrails: setting(
    'guardrails.record',
    'CSTP_RECORD_GUARDRAILS',
    'warn',
    oneOf('off', 'warn', 'block'),
    'What a violated guardrail does to a record: nothing, a warning in the answer, or a refusal.',
  ),
  tracker_ttl_minutes: setting(
    'tracker.ttl_minutes',
    'CSTP_TRACKER_TTL_MINUTES',
    120,
    whole(1, 525_600),
    'Minutes without an input after which a deliberation session ends.',
  ),
  log_level: setting(
    'log.level',
    'CSTP_LOG_LEVEL',
    'info',
    oneOf('debug', 'info', 'warn', 'error'),
    'Least severe line that is logged.',
  ),
}

type Table = typeof settings
export type SettingName = keyof Table
/** The effective value of every setting. */
export type Settings = { readonly [K in SettingName]: Table[K] extends Setting<infer T> ? T : never }
export interface Configuration {
  settings: Settings
  sources: Record<SettingName, Source>
}

/** Thrown with everything that is wrong at once; `problems` has a line for each. */
export class ConfigError extends Error {
  readonly problems: string[]

  constructor(problems: string[]) {
    super(`The settings are wrong:\n${problems.map((line) => `  - ${line}`).join('\n')}`)
    this.name = 'ConfigError'
    this.problems = problems
  }
}

const names = Object.keys(settings) as SettingName[]

/** An address may carry a name and a password. */
const withoutPassword = (text: string): string => text.replace(/:\/\/[^/\s]*@/g, '://****@')

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

/** Flattens a YAML tree to the settings' paths; what no setting claims is a problem. */
function flatten(tree: unknown, file: string, problems: string[]): Map<string, unknown> {
  const found = new Map<string, unknown>()
  const known = new Set(names.map((name) => settings[name].yaml))
  const visit = (node: unknown, at: string): void => {
    if (at !== '' && known.has(at)) {
      if (node !== null) found.set(at, node)
      return
    }
    const inside = [...known].filter((one) => at === '' || one.startsWith(`${at}.`))
    if (inside.length === 0)
      problems.push(`${at} (file ${file}): there is no such setting; known are ${[...known].join(', ')}`)
    else if (node !== null && typeof node === 'object' && !Array.isArray(node)) {
      for (const [key, item] of Object.entries(node)) visit(item, at ? `${at}.${key}` : key)
    } else if (node !== null)
      problems.push(`${at || 'the file'} (file ${file}): expected a mapping with ${inside.join(', ')}`)
  }
  visit(tree, '')
  return found
}

/**
 * Reads the settings.
 * @param input.flags values by flag name (`--port`), as given on the command line
 * @param input.readFile reads the YAML file
 * @throws ConfigError with every wrong value: its name, source and what was expected
 */
export async function loadSettings(input: {
  env: Record<string, string | undefined>
  flags: Record<string, string>
  readFile(path: string): Promise<string>
}): Promise<Configuration> {
  const problems: string[] = []
  const file = input.flags['--config'] ?? input.env.CSTP_CONFIG
  let fromFile = new Map<string, unknown>()
  if (file) {
    try {
      const document = parseDocument(await input.readFile(file), { prettyErrors: true })
      for (const error of document.errors) problems.push(`file ${file}: ${error.message.split('\n')[0]}`)
      if (document.errors.length === 0)
        fromFile = flatten(expand(document.toJS(), input.env, '', problems), file, problems)
    } catch (error) {
      problems.push(`file ${file}: can't be read: ${(error as Error).message}`)
    }
  }
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
    try {
      values[name] =
        source === 'default' ? (typeof one.default === 'function' ? one.default() : one.default) : one.read(value)
    } catch (error) {
      const shown = one.secret ? '' : `, received ${withoutPassword(JSON.stringify(value)).slice(0, 200)}`
      problems.push(`${one.env} (${source}): ${(error as Error).message}${shown}`)
    }
  }
  const embedder = values.embedder
  if (embedder === 'openai' && !values.embedding_model)
    problems.push('CSTP_EMBEDDING_MODEL: the openai embedder needs a model')
  if (embedder === 'openai' && !values.embedding_url)
    problems.push('CSTP_EMBEDDING_URL: the openai embedder needs an address')
  if (embedder === 'huggingface' && !values.embedding_api_key && input.env.HF_TOKEN)
    values.embedding_api_key = input.env.HF_TOKEN
  const agents = (values.auth_tokens as Credential[] | null | undefined)?.map(({ agent }) => agent)
  for (const name of ['admin_agents', 'evidence_agents'] as const) {
    const strangers = ((values[name] as string[] | null) ?? []).filter((agent) => agents && !agents.includes(agent))
    if (strangers.length > 0)
      problems.push(`${settings[name].env} (${sources[name]}): no token belongs to ${strangers.join(', ')}`)
  }
  if (problems.length > 0) throw new ConfigError(problems)
  return { settings: values as unknown as Settings, sources: sources as Record<SettingName, Source> }
}

/** A setting's value as it may be shown: secrets are masked. */
export function shownValue(name: SettingName, value: unknown): string {
  if (value === null) return '(none)'
  if (name === 'auth_tokens') return (value as Credential[]).map(({ agent }) => `${agent}:****`).join(',')
  if (settings[name].secret) return '****'
  return withoutPassword(Array.isArray(value) ? value.join(',') : String(value))
}
